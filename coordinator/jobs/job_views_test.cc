#include "coordinator/jobs/job_views.h"

#include <algorithm>

#include "absl/strings/str_cat.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace sluice {
namespace {

using testing::ElementsAre;

JobView ViewOf(const JobId& job, int64_t created) {
  JobView view;
  view.job = job;
  view.create_time = absl::FromUnixSeconds(created);
  return view;
}

class JobViewsTest : public testing::Test {
 protected:
  JobViewsTest()
      : views_({[this](const JobId& job) -> absl::StatusOr<JobView> {
                  ++reads_;
                  for (const JobView& view : ended_) {
                    if (view.job == job) return view;
                  }
                  return absl::NotFoundError("none");
                },
                [this](int64_t limit, const JobPlace& after) -> absl::StatusOr<std::vector<JobView>> {
                  std::vector<JobView> out;  // the newest is the first of ended_
                  for (const JobView& view : ended_) {
                    const bool behind =
                        std::pair(view.create_time, view.job) < std::pair(after.created, after.job);
                    if (behind && static_cast<int64_t>(out.size()) < limit) out.push_back(view);
                  }
                  return out;
                }}) {}
  std::vector<JobId> Listed(int64_t limit, const JobPlace& after = {}) {
    std::vector<JobId> out;
    const std::vector<JobSnapshot> found = *views_.List(limit, after);
    for (const JobSnapshot& view : found) out.push_back(view->job);
    return out;
  }

  std::vector<JobView> ended_;
  int reads_ = 0;
  JobViews views_;
};

TEST_F(JobViewsTest, KeepsTheSnapshotWhileNothingChanges) {
  JobView view = ViewOf("j", 1);
  for (int i = 0; i < 100; ++i) view.events.push_back({absl::FromUnixSeconds(i), "event"});
  views_.Publish(view);
  const JobSnapshot first = *views_.Get("j");
  views_.Publish(JobView(view));
  EXPECT_EQ(*views_.Get("j"), first);
  LiveView live(view);
  live.waiting_for = "a worker";
  views_.Publish(view, live);
  const JobSnapshot second = *views_.Get("j");
  EXPECT_GT(second->revision, first->revision);
  EXPECT_EQ(second->waiting_for, "a worker");
  EXPECT_EQ(first->waiting_for, "") << "who has it reads on what was";
  EXPECT_TRUE(second->events.IsSame(first->events)) << "the lists are shared";
  view.events.push_back({absl::FromUnixSeconds(200), "another"});
  views_.Publish(view, live);
  EXPECT_EQ((*views_.Get("j"))->events.size(), 101u);
  EXPECT_EQ(first->events.size(), 100u);
}

TEST_F(JobViewsTest, ReadsWhatEndedLongAgoFromTheArchive) {
  for (int i = 0; i < 3 * static_cast<int>(JobViews::kEndedHeld); ++i) {
    JobView view = ViewOf(absl::StrCat("j", 1000 + i), i);
    views_.Publish(view);
    view.state = JobState::kSucceeded;
    ended_.insert(ended_.begin(), view);
    views_.Publish(view);
  }
  EXPECT_EQ((*views_.Get("j1191"))->state, JobState::kSucceeded);
  EXPECT_EQ(reads_, 0) << "the last ones are held";
  EXPECT_EQ((*views_.Get("j1000"))->state, JobState::kSucceeded);
  EXPECT_EQ(reads_, 1);
  EXPECT_TRUE(absl::IsNotFound(views_.Get("j9999").status()));
}

TEST_F(JobViewsTest, ListsWhatLivesAndWhatEndedInOneOrder) {
  for (int i = 5; i >= 0; --i) {
    ended_.push_back(ViewOf(absl::StrCat("ended", i), 10 * i));
    ended_.back().state = JobState::kSucceeded;
  }
  views_.Publish(ViewOf("live", 25));
  views_.Publish(ended_[1]);  // held here too: ended4
  EXPECT_THAT(Listed(100), ElementsAre("ended5", "ended4", "ended3", "live", "ended2", "ended1", "ended0"));
  EXPECT_THAT(Listed(2), ElementsAre("ended5", "ended4"));
  EXPECT_THAT(Listed(2, {absl::FromUnixSeconds(30), "ended3"}), ElementsAre("live", "ended2"));
}

TEST_F(JobViewsTest, TellsWhoWaitsThatAJobIsTakenUpAgain) {
  ended_.push_back(ViewOf("j", 1));
  ended_[0].state = JobState::kFailed;
  const JobSnapshot ended = *views_.WaitForChange("j", 0, absl::InfiniteDuration());
  EXPECT_EQ(ended->state, JobState::kFailed);
  JobView again = ended_[0];
  again.state = JobState::kPending;
  views_.Publish(again);
  EXPECT_EQ((*views_.WaitForChange("j", ended->revision, absl::InfiniteDuration()))->state,
            JobState::kPending);
}

}  // namespace
}  // namespace sluice
