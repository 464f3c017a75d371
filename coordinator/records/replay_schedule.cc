#include "coordinator/records/replay_schedule.h"

#include <algorithm>
#include <utility>

#include "absl/strings/str_cat.h"

namespace sluice {

absl::StatusOr<std::shared_ptr<const ReplaySchedule>> ReplaySchedule::Create(
    std::vector<std::vector<RecordedGroup>> batches) {
  std::shared_ptr<ReplaySchedule> out(new ReplaySchedule);  // shared by all that read the plan
  for (std::vector<RecordedGroup>& batch : batches) {
    const PolicyVersion version = out->steps();
    std::vector<Draw>& draws = out->batches_.emplace_back();
    for (RecordedGroup& group : batch) {
      group.batch = version;
      draws.push_back(group.draw);
      if (group.sampled_at < 0 || group.sampled_at > version) {
        return absl::DataLossError(absl::StrCat("the record says that draw ", group.draw,
                                                " was sampled at version ", group.sampled_at,
                                                " and trained on at version ", version));
      }
      out->order_.push_back(std::move(group));
    }
  }
  std::sort(out->order_.begin(), out->order_.end(), [](const RecordedGroup& a, const RecordedGroup& b) {
    return std::pair(a.sampled_at, a.draw) < std::pair(b.sampled_at, b.draw);
  });
  for (uint64_t place = 0; place < out->size(); ++place) {
    if (!out->places_.emplace(out->order_[place].draw, place).second) {
      return absl::DataLossError(
          absl::StrCat("the record says that draw ", out->order_[place].draw, " was trained on twice"));
    }
  }
  return out;
}

int64_t ReplaySchedule::taken() const {
  return std::count_if(order_.begin(), order_.end(), [](const RecordedGroup& group) { return group.taken; });
}

}  // namespace sluice
