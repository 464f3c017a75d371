// What a recorded job did, as the table that its replay follows in place of the formulas of deterministic
// jobs: which draws, sampled at which version, trained on in which batch. Immutable.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "core/rl/types.h"

namespace sluice {

// A sample that the recorded job did not train on: the ledger's column, and why.
struct RecordedLoss {
  LedgerColumn column = LedgerColumn::kCancelled;
  std::string reason;
};

// A group that the recorded job trained on.
struct RecordedGroup {
  Draw draw = 0;
  PolicyVersion batch = 0;       // trained on at this version, which is the one before what it made
  PolicyVersion sampled_at = 0;  // of a group that is taken over: the newest version in it
  bool taken = false;            // sampled across versions: its completions are taken over as they are
  int64_t samples = 0;           // that were issued
  std::map<uint32_t, RecordedLoss> lost;  // by index
};

class ReplaySchedule {
 public:
  // `batches`: of the versions 1, 2, ... the groups in the order in which they were trained on; `batch` is
  // set here. DATA_LOSS names a draw that was trained on twice, or sampled at a version that there was not
  // yet.
  static absl::StatusOr<std::shared_ptr<const ReplaySchedule>> Create(
      std::vector<std::vector<RecordedGroup>> batches);

  int64_t steps() const { return static_cast<int64_t>(batches_.size()); }
  // Groups in the order in which they are issued: by version, then draw. So no worker ever has to go back.
  uint64_t size() const { return order_.size(); }
  const RecordedGroup& At(uint64_t place) const { return order_[place]; }
  bool Has(Draw draw) const { return places_.count(draw) > 0; }
  const RecordedGroup& Of(Draw draw) const { return order_[places_.at(draw)]; }
  // What is trained on at a version, in order.
  const std::vector<Draw>& Batch(PolicyVersion version) const {
    return batches_[static_cast<size_t>(version)];
  }
  int64_t taken() const;  // groups that are taken over

 private:
  ReplaySchedule() = default;
  std::vector<RecordedGroup> order_;
  std::map<Draw, uint64_t> places_;
  std::vector<std::vector<Draw>> batches_;
};

}  // namespace sluice
