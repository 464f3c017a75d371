// Full cache blocks kept by the tokens that they hold, so that a later sequence which begins with the same
// tokens need not compute them. Blocks form chains: a node is a block's tokens after a parent node, and nodes
// are never numbered twice, so a node stands for all tokens from the first on. Tokens are compared, hashes
// only find candidates. When the pool asks (BlockPool::set_reclaim), of the last blocks of chains that nobody
// else holds the longest unused is given up; a block counts as used when its children were, and no child
// outlives its parent. All blocks are of one policy: Clear when another is served. Finding, keeping and
// giving up take logarithmic time. Not thread-safe: belongs to the engine's thread.
#pragma once

#include <cstdint>
#include <set>
#include <unordered_map>
#include <utility>
#include <vector>

#include "absl/types/span.h"
#include "rollout/paged_cache.h"

namespace sluice {

// Before the first block of every sequence.
constexpr uint64_t kPrefixRoot = 0;

class PrefixCache {
 public:
  struct Node {
    uint64_t id = 0;
    CacheBlock block;
  };

  // The block of the next kBlockTokens `tokens` after `parent`; null when it is not kept. Valid until the
  // next change. Does not count as use: see Touch.
  const Node* Find(uint64_t parent, absl::Span<const int32_t> tokens) const;
  // The chain up to node `id` was used now.
  void Touch(uint64_t id);
  // Keeps `block` as the next after `parent` (the root or a node that is kept), used now. What it returns is
  // kept from now on: another block of the same content when there is one already. Null when `parent` is not
  // kept.
  const Node* Insert(uint64_t parent, absl::Span<const int32_t> tokens, CacheBlock block);
  // Gives up one block that nobody else holds; false when there is none.
  bool Evict();
  void Clear();
  int64_t blocks() const { return static_cast<int64_t>(entries_.size()); }

 private:
  struct Entry {
    Node node;
    uint64_t parent = 0, key = 0;
    std::vector<int32_t> tokens;
    // When it was used itself, or a child was that is gone. Children that are there may be younger.
    uint64_t used = 0;
    int64_t children = 0;
  };

  static uint64_t KeyOf(uint64_t parent, absl::Span<const int32_t> tokens);
  void Use(Entry& entry, uint64_t when);
  void Erase(uint64_t id);

  uint64_t next_id_ = kPrefixRoot + 1;
  uint64_t now_ = 0;                             // counts uses
  std::unordered_map<uint64_t, Entry> entries_;  // by id
  std::unordered_multimap<uint64_t, uint64_t> by_key_;
  std::set<std::pair<uint64_t, uint64_t>> leaves_;  // (used, id) of entries without children
};

}  // namespace sluice
