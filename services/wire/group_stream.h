// A group on its way to the learner: a stream of pieces, none of which is as large as the group
// (AddGroupRequest of sluice/v1/learner.proto). Pure. Not thread-safe.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <set>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "core/rl/trainer.h"
#include "sluice/v1/learner.pb.h"

namespace sluice {

// The largest group that is put together. The coordinator's store takes a smaller one.
constexpr int64_t kMaxGroupBytes = int64_t{2} << 30;
// What a piece is filled up to, in bytes; it may be a few hundred more.
constexpr int64_t kGroupPieceBytes = 1 << 20;

struct GroupForVersion {
  JobId job;
  PolicyVersion version = kNoPolicyVersion;
  uint64_t coordinator_epoch = 0;
  // Prompt: tokens only. Verdicts: GRADED with the reward, no components.
  Group group;
};

// Cuts a group into pieces: without texts, and only samples with a reward.
class GroupPieces {
 public:
  // `group` is borrowed.
  GroupPieces(JobId job, PolicyVersion version, uint64_t coordinator_epoch, const Group& group)
      : job_(std::move(job)), version_(version), coordinator_epoch_(coordinator_epoch), group_(group) {}
  // False: the piece before was the last one.
  bool Next(v1::AddGroupRequest& piece);

 private:
  // What was sent of a sample.
  struct Sent {
    bool begun = false;
    size_t tokens = 0, raw_logprobs = 0, processed_logprobs = 0, spans = 0, experts = 0;
  };
  void SkipUnrewarded();
  void Fill(const ScoredSample& sample, int64_t& room, v1::TrainingSample& out);
  bool AllSent(const Trajectory& trajectory) const;

  const JobId job_;
  const PolicyVersion version_;
  const uint64_t coordinator_epoch_;
  const Group& group_;
  bool begun_ = false, ended_ = false;
  size_t prompt_sent_ = 0, sample_ = 0;  // the sample under way
  Sent sent_;                            // of it
};

// Puts the pieces of one stream together again, and checks all of it as FromProto does.
class GroupAssembly {
 public:
  explicit GroupAssembly(int64_t max_bytes = kMaxGroupBytes) : max_bytes_(max_bytes) {}
  // INVALID_ARGUMENT names the field. RESOURCE_EXHAUSTED: the group is above max_bytes. Nothing is to be
  // added after an error.
  absl::Status Add(v1::AddGroupRequest piece);
  // INVALID_ARGUMENT unless the last piece was there. Once.
  absl::StatusOr<GroupForVersion> Finish() &&;

 private:
  absl::Status Begin(const v1::AddGroupRequest& piece);
  absl::Status CloseSample();

  const int64_t max_bytes_;
  int64_t bytes_ = 0;
  bool begun_ = false, ended_ = false;
  GroupForVersion out_;
  std::set<uint32_t> indices_;
  std::optional<v1::TrainingSample> open_;  // may go on in the next piece
};

// What GroupPieces sends of it, to within a few per cent.
int64_t StreamedBytes(const Group& group);

}  // namespace sluice
