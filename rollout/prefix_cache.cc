#include "rollout/prefix_cache.h"

#include <algorithm>
#include <utility>

namespace sluice {

// FNV-1a over whole tokens; quality only matters for speed.
uint64_t PrefixCache::KeyOf(uint64_t parent, absl::Span<const int32_t> tokens) {
  uint64_t hash = 0xcbf29ce484222325u ^ parent;
  for (int32_t token : tokens) hash = (hash ^ static_cast<uint32_t>(token)) * 0x100000001b3u;
  return hash ^ (hash >> 32);
}

const PrefixCache::Node* PrefixCache::Find(uint64_t parent, absl::Span<const int32_t> tokens) const {
  const auto [begin, end] = by_key_.equal_range(KeyOf(parent, tokens));
  for (auto it = begin; it != end; ++it) {
    const Entry& entry = *it->second;
    if (entry.parent == parent && absl::MakeConstSpan(entry.tokens) == tokens) return &entry.node;
  }
  return nullptr;
}

void PrefixCache::Touch(uint64_t id) {
  for (auto it = by_id_.find(id); it != by_id_.end(); it = by_id_.find(it->second->parent)) {
    by_age_.splice(by_age_.end(), by_age_, it->second);
  }
}

const PrefixCache::Node* PrefixCache::Insert(uint64_t parent, absl::Span<const int32_t> tokens,
                                             CacheBlock block) {
  if (const Node* kept = Find(parent, tokens)) return kept;
  const auto above = by_id_.find(parent);
  if (parent != kPrefixRoot && above == by_id_.end()) return nullptr;
  const uint64_t id = next_id_++, key = KeyOf(parent, tokens);
  const auto place = parent == kPrefixRoot ? by_age_.end() : above->second;
  const auto it =
      by_age_.insert(place, {{id, std::move(block)}, parent, key, {tokens.begin(), tokens.end()}});
  by_key_.emplace(key, it);
  by_id_.emplace(id, it);
  return &it->node;
}

bool PrefixCache::Evict() {
  // A sequence that holds a node's block holds those of its ancestors too, and children come before their
  // parents: the first that nobody holds has no children.
  const auto unused = [](const Entry& entry) { return entry.node.block.use_count() == 1; };
  const auto it = std::find_if(by_age_.begin(), by_age_.end(), unused);
  if (it == by_age_.end()) return false;
  Erase(it);
  return true;
}

void PrefixCache::Erase(Entries::iterator it) {
  const auto [begin, end] = by_key_.equal_range(it->key);
  by_key_.erase(std::find_if(begin, end, [&](const auto& entry) { return entry.second == it; }));
  by_id_.erase(it->node.id);
  by_age_.erase(it);
}

void PrefixCache::Clear() {
  by_key_.clear();
  by_id_.clear();
  by_age_.clear();
}

}  // namespace sluice
