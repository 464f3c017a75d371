// Full cache blocks kept by the tokens that they hold, so that a later sequence which begins with the same
// tokens need not compute them. Blocks form chains: a node is a block's tokens after a parent node, and nodes
// are never numbered twice, so a node stands for all tokens from the first on. Tokens are compared, hashes
// only find candidates. A node whose block nobody else holds is given up, the longest unused first, when the
// pool asks (BlockPool::set_reclaim); no child outlives its parent. All blocks are of one policy: Clear when
// another is served. Not thread-safe: belongs to the engine's thread.
#pragma once

#include <cstdint>
#include <list>
#include <unordered_map>
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
  // next change. A chain is touched by finding it, the last node first: see Touch.
  const Node* Find(uint64_t parent, absl::Span<const int32_t> tokens) const;
  // Node `id` was used now, and so were its ancestors.
  void Touch(uint64_t id);
  // Keeps `block` as the next after `parent` (the root or a node that is kept). What it returns is kept from
  // now on: another block of the same content when there is one already. Null when `parent` is not kept.
  const Node* Insert(uint64_t parent, absl::Span<const int32_t> tokens, CacheBlock block);
  // Gives up one block that nobody else holds; false when there is none.
  bool Evict();
  void Clear();
  int64_t blocks() const { return static_cast<int64_t>(by_age_.size()); }

 private:
  struct Entry {
    Node node;
    uint64_t parent = 0, key = 0;
    std::vector<int32_t> tokens;
  };
  using Entries = std::list<Entry>;

  static uint64_t KeyOf(uint64_t parent, absl::Span<const int32_t> tokens);
  void Erase(Entries::iterator it);

  uint64_t next_id_ = kPrefixRoot + 1;
  Entries by_age_;  // the longest unused first; every child before its parent
  std::unordered_multimap<uint64_t, Entries::iterator> by_key_;
  std::unordered_map<uint64_t, Entries::iterator> by_id_;
};

}  // namespace sluice
