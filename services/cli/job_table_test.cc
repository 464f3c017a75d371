#include "services/cli/job_table.h"

#include "gtest/gtest.h"

namespace sluice::cli {
namespace {

v1::Job JobOf(const std::string& id, const std::string& name, int64_t step) {
  v1::Job job;
  job.set_job(id);
  job.set_step(step);
  job.set_state(v1::RUNNING);
  job.mutable_spec()->set_name(name);
  job.mutable_spec()->mutable_stop()->set_steps(150);
  return job;
}

TEST(JobTableTest, KeepsColumnsApartWhenIdsAreLong) {
  v1::Job trained = JobOf("j-1", "a", 12);
  trained.mutable_spec()->mutable_share()->set_priority(5);
  trained.set_rollout_workers(2);
  (*trained.mutable_last_step()->mutable_metrics())["reward"] = 0.25;
  EXPECT_EQ(RenderJobs({JobOf("arithmetic-20261121-7", "arithmetic", 3), trained}),
            "job                    name        state        step  reward  priority  workers\n"
            "arithmetic-20261121-7  arithmetic  RUNNING   3 / 150       -         0        0\n"
            "j-1                    a           RUNNING  12 / 150    0.25         5        2\n");
}

TEST(JobTableTest, TellsLongNamesOfOneStemApart) {
  const std::string stem = "math-7b-curriculum-hard-problems-without-kl-";
  const std::string table = RenderJobs({JobOf("a", stem + "lr-1e-5", 1), JobOf("b", stem + "lr-1e-6", 1)});
  EXPECT_NE(table.find("math-7b-curriculum..s-without-kl-lr-1e-5 "), std::string::npos) << table;
  EXPECT_NE(table.find("lr-1e-6 "), std::string::npos) << table;
}

TEST(JobTableTest, CountsTheStepsThatAReplayRepeats) {
  v1::Job replay = JobOf("j-2", "a", 1);
  replay.mutable_spec()->mutable_replay()->set_job("j-1");
  replay.mutable_spec()->mutable_replay()->set_steps(3);
  EXPECT_EQ(RenderJobs({replay}),
            "job  name  state     step  reward  priority  workers\n"
            "j-2  a     RUNNING  1 / 3       -         0        0\n");
}

TEST(JobTableTest, HasOnlyTheHeadingWithoutJobs) {
  EXPECT_EQ(RenderJobs({}), "job  name  state  step  reward  priority  workers\n");
}

}  // namespace
}  // namespace sluice::cli
