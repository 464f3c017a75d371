// Whole jobs on a disk that fails, fills up or takes its time, and with workers that come back from the dead.
#include <atomic>
#include <cerrno>

#include "absl/synchronization/notification.h"
#include "coordinator/testing_coordinator.h"
#include "gmock/gmock.h"
#include "prometheus/text_serializer.h"

namespace sluice {
namespace {

using testing::AllOf;
using testing::HasSubstr;
using testing::Not;

const absl::Duration kPatience = absl::Seconds(60);

class CoordinatorDiskTest : public CoordinatorTest {
 protected:
  double Fenced() {
    for (const auto& family : registry_.Collect()) {
      if (family.name == "sluice_fenced_results_total") return family.metric.at(0).counter.value;
    }
    return -1;
  }
  std::string Metrics() { return prometheus::TextSerializer().Serialize(registry_.Collect()); }
};

TEST_F(CoordinatorDiskTest, PausesWithTheReasonAndGoesOnByItselfAfterEachFault) {
  const std::pair<int, const char*> faults[] = {
      {ENOSPC, "there is room in"}, {EROFS, "the disk is read-only"}, {EIO, "the disk fails"}};
  for (const auto& [error, says] : faults) {
    std::atomic<int> commits{0};
    std::atomic<bool> mended{false};
    adjust_ = [&, error = error](CoordinatorOptions& options) {
      options.disk_fault = [&, error](absl::string_view operation) {
        return operation == "database.commit" && commits++ >= 6 && !mended ? error : 0;
      };
    };
    state_ = std::make_unique<TestFolder>("state");
    trainer_ = std::make_shared<FakeTrainer>();
    Start();
    RegisterAll();
    const JobId job = Submit();
    const JobView paused = Await(job, [](const JobView& view) { return view.state == JobState::kPaused; });
    EXPECT_THAT(paused.waiting_for, AllOf(HasSubstr(says), HasSubstr("goes on when")));
    EXPECT_THAT(Metrics(), HasSubstr("sluice_store_stalled 1\n"));
    mended = true;
    const JobView end = AwaitEnd(job);
    EXPECT_EQ(end.state, JobState::kSucceeded) << end.error;
    EXPECT_THAT(Metrics(), Not(HasSubstr("sluice_store_commit_seconds_count 0\n")));
    ExpectSound(end);
  }
}

TEST_F(CoordinatorDiskTest, BeginsNothingNewWhileRoomIsShort) {
  std::atomic<int64_t> free{1 << 20};
  adjust_ = [&](CoordinatorOptions& options) {
    options.disk_space = [&](const std::string&) { return DiskSpace{free, int64_t{1} << 40}; };
  };
  Start();
  RegisterAll();
  const JobId job = Submit();
  const JobView paused = Await(job, [](const JobView& view) {
    return view.state == JobState::kPaused && view.version == 0;  // the learner goes on
  });
  EXPECT_THAT(paused.waiting_for,
              AllOf(HasSubstr("room on the disk of"), HasSubstr("1048576 bytes are free")));
  EXPECT_EQ(paused.ledger.issued, 0);
  EXPECT_THAT(Metrics(), HasSubstr("sluice_store_free_bytes 1048576\n"));
  free = int64_t{1} << 30;
  const JobView end = AwaitEnd(job);
  EXPECT_EQ(end.state, JobState::kSucceeded) << end.error;
  ExpectSound(end);
}

TEST_F(CoordinatorDiskTest, SaysThatAWriteTakesLong) {
  std::atomic<int> commits{0};
  absl::Notification blocked, release;
  adjust_ = [&](CoordinatorOptions& options) {
    options.long_write = absl::Nanoseconds(1);
    options.disk_fault = [&](absl::string_view operation) {
      if (operation == "database.commit" && commits++ == 6) {
        blocked.Notify();
        release.WaitForNotificationWithTimeout(kPatience);
      }
      return 0;
    };
  };
  Start();
  RegisterAll();
  const JobId job = Submit();
  ASSERT_TRUE(blocked.WaitForNotificationWithTimeout(kPatience));
  const JobView during = *coordinator_->Get(job);
  EXPECT_EQ(during.state, JobState::kPaused);
  EXPECT_THAT(during.waiting_for, HasSubstr("a write has taken"));
  EXPECT_THAT(coordinator_->List()->at(0).waiting_for, HasSubstr("a write has taken"));
  release.Notify();
  EXPECT_EQ(AwaitEnd(job).state, JobState::kSucceeded);
}

TEST_F(CoordinatorDiskTest, OthersGoOnWhileAJobIsReadFromTheDisk) {
  Start();
  RegisterAll();
  const JobId slow = Submit();
  AwaitStep(slow, 1);
  trainer_->BlockStep();
  ASSERT_TRUE(coordinator_->Pause(slow).ok());
  trainer_->UnblockStep();
  coordinator_.reset();
  std::atomic<bool> taken_up{false}, first{true};
  absl::Notification reading, release;
  adjust_ = [&](CoordinatorOptions& options) {
    options.encoder = [&](const JobSpec& spec) {
      taken_up = true;
      return MakeBytesEncoder(spec);
    };
    options.disk_fault = [&](absl::string_view operation) {
      if (operation == "segment.read" && taken_up && first.exchange(false)) {
        reading.Notify();
        release.WaitForNotificationWithTimeout(kPatience);
      }
      return 0;
    };
  };
  Start();
  ASSERT_TRUE(reading.WaitForNotificationWithTimeout(kPatience));
  RegisterAll();
  RegisterOtherLearner();
  const JobView other = AwaitEnd(Submit());
  EXPECT_EQ(other.state, JobState::kSucceeded) << other.error;
  EXPECT_EQ(coordinator_->Get(slow)->state, JobState::kPaused);
  release.Notify();
  ASSERT_TRUE(coordinator_->Resume(slow).ok());
  const JobView end = AwaitEnd(slow);
  EXPECT_EQ(end.state, JobState::kSucceeded) << end.error;
  ExpectSound(end);
}

// Does not hear that its first call was cancelled: hands its completions over when it is let go.
class ZombiePort final : public RolloutWorker {
 public:
  struct Fate {
    std::atomic<bool> first{true};
    absl::Notification began, release, over;
  };
  ZombiePort(std::shared_ptr<RolloutProcess> process, Fate& fate)
      : process_(std::move(process)), fate_(fate) {}
  absl::Status LoadPolicy(const PolicyRef& policy, SwapMode mode, absl::Time deadline) override {
    return process_->worker.LoadPolicy(policy, mode, deadline);
  }
  absl::Status Generate(const RolloutRequest& request, const CancelToken& cancel,
                        const std::function<void(Trajectory)>& on_trajectory) override {
    if (!fate_.first.exchange(false)) return process_->worker.Generate(request, cancel, on_trajectory);
    fate_.began.Notify();
    fate_.release.WaitForNotificationWithTimeout(kPatience);
    const absl::Status status = process_->worker.Generate(request, CancelToken(), on_trajectory);
    fate_.over.Notify();
    return status;
  }
  absl::Status Control(RolloutCommand command, absl::Time deadline) override {
    return process_->worker.Control(command, deadline);
  }
  absl::StatusOr<RolloutWorkerState> GetState() override { return process_->worker.GetState(); }

 private:
  const std::shared_ptr<RolloutProcess> process_;
  Fate& fate_;
};

TEST_F(CoordinatorDiskTest, RefusesAndCountsWhatAnOldEpochHandsOver) {
  ZombiePort::Fate fate;
  rollouts_.resize(1);
  spec_.stop_steps = 40;
  adjust_ = [&](CoordinatorOptions& options) {
    options.ports.rollout = [&](const std::string&) {
      return std::make_unique<ZombiePort>(rollouts_[0], fate);
    };
  };
  Start();
  RegisterAll();
  const JobId job = Submit();
  ASSERT_TRUE(fate.began.WaitForNotificationWithTimeout(kPatience));
  RegisterRollout(0);  // with a new epoch; the first call goes on under the old one
  AwaitStep(job, 1);
  const double before = Fenced();  // of other calls under the old epoch
  fate.release.Notify();
  ASSERT_TRUE(fate.over.WaitForNotificationWithTimeout(kPatience));
  const JobView end = AwaitEnd(job);
  EXPECT_EQ(end.state, JobState::kSucceeded) << end.error;
  EXPECT_GE(Fenced(), before + 4);  // a group, at least
  ExpectSound(end);
}

TEST_F(CoordinatorDiskTest, GivesRisingEpochsThoughTheClockGoesBack) {
  const auto epoch = [&] {
    return coordinator_->RegisterWorker("rollout-0", WorkerRole::kRollout, "host:0", "incarnation")->epoch;
  };
  Start(clock_);
  uint64_t last = epoch();
  EXPECT_GT(epoch(), last);
  last = epoch();
  for (int i = 0; i < 2; ++i) {
    coordinator_.reset();
    clock_.Advance(-absl::Hours(10));
    Start(clock_);
    const uint64_t next = epoch();
    EXPECT_GT(next, last);
    last = next;
  }
}

}  // namespace
}  // namespace sluice
