// Something whose tokens are fed to the decoder: a prompt shared by the members of a group that have not
// started, a member, or tokens to be scored. Touched by the engine's thread only.
#pragma once

#include <cstdint>
#include <limits>
#include <map>
#include <memory>
#include <utility>
#include <vector>

#include "rollout/completion.h"
#include "rollout/paged_cache.h"
#include "rollout/prefix_cache.h"
#include "rollout/rollout_group.h"

namespace sluice {

enum class StreamKind { kPrompt, kMember, kScore };

struct Stream {
  StreamKind kind = StreamKind::kPrompt;
  std::shared_ptr<RolloutGroup> group;     // shared with its caller and the group's other streams
  std::vector<size_t> pending;             // kPrompt: members to start, as places in request.indices
  std::unique_ptr<Completion> completion;  // kMember
  std::vector<int32_t> known;              // tokens to be in the cache: given, then sampled
  int64_t cached = 0;                      // of them computed
  std::unique_ptr<SequenceCache> cache;    // null before the first start
  std::vector<float> logits;               // kPrompt: after its last token [vocab]
  // The experts of tokens from the first on, as they were routed when first computed: [., width], where
  // width is RoutedWidth. A prompt's rows are its members' too.
  std::vector<uint16_t> experts;
  // The first `chained` blocks are kept in the prefix cache, the last of them as `node`.
  int64_t chained = 0;
  uint64_t node = kPrefixRoot;

  int64_t remaining() const { return static_cast<int64_t>(known.size()) - cached; }
  // Sequences that it is or will become.
  size_t weight() const { return kind == StreamKind::kPrompt ? pending.size() : 1; }
  // Ids recorded for each token; 0: none.
  int64_t RoutedWidth() const;
};

// Arrival of the group, then place in the group; a prompt comes after its members.
using Age = std::pair<uint64_t, size_t>;
constexpr size_t kPromptPlace = std::numeric_limits<size_t>::max();
using Streams = std::map<Age, std::unique_ptr<Stream>>;

}  // namespace sluice
