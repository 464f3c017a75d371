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
    const Entry& entry = entries_.at(it->second);
    if (entry.parent == parent && absl::MakeConstSpan(entry.tokens) == tokens) return &entry.node;
  }
  return nullptr;
}

void PrefixCache::Use(Entry& entry, uint64_t when) {
  if (entry.children == 0) leaves_.erase({entry.used, entry.node.id});
  entry.used = std::max(entry.used, when);
  if (entry.children == 0) leaves_.emplace(entry.used, entry.node.id);
}

// Ancestors are told when it goes: until then they cannot be given up.
void PrefixCache::Touch(uint64_t id) {
  if (const auto it = entries_.find(id); it != entries_.end()) Use(it->second, ++now_);
}

const PrefixCache::Node* PrefixCache::Insert(uint64_t parent, absl::Span<const int32_t> tokens,
                                             CacheBlock block) {
  if (const Node* kept = Find(parent, tokens)) {
    Touch(kept->id);
    return kept;
  }
  if (parent != kPrefixRoot) {
    const auto above = entries_.find(parent);
    if (above == entries_.end()) return nullptr;
    if (above->second.children++ == 0) leaves_.erase({above->second.used, parent});
  }
  const uint64_t id = next_id_++, key = KeyOf(parent, tokens);
  Entry& entry = entries_[id];
  entry = {{id, std::move(block)}, parent, key, {tokens.begin(), tokens.end()}, ++now_};
  leaves_.emplace(entry.used, id);
  by_key_.emplace(key, id);
  return &entry.node;
}

bool PrefixCache::Evict() {
  // A sequence that holds a node's block holds those of its ancestors too. What is held is in use now, and
  // does not come up again before the others.
  for (size_t left = leaves_.size(); left > 0; --left) {
    const uint64_t id = leaves_.begin()->second;
    if (entries_.at(id).node.block.use_count() > 1) {
      Touch(id);
      continue;
    }
    Erase(id);
    return true;
  }
  return false;
}

void PrefixCache::Erase(uint64_t id) {
  const auto it = entries_.find(id);
  const Entry& entry = it->second;
  leaves_.erase({entry.used, id});
  const auto [begin, end] = by_key_.equal_range(entry.key);
  by_key_.erase(std::find_if(begin, end, [id](const auto& kept) { return kept.second == id; }));
  if (const auto above = entries_.find(entry.parent); above != entries_.end()) {
    Entry& parent = above->second;
    if (--parent.children == 0) leaves_.emplace(parent.used, above->first);
    Use(parent, entry.used);
  }
  entries_.erase(it);
}

void PrefixCache::Clear() {
  entries_.clear();
  by_key_.clear();
  leaves_.clear();
}

}  // namespace sluice
