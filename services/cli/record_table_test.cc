#include "services/cli/record_table.h"

#include "gtest/gtest.h"

namespace sluice::cli {
namespace {

TEST(RecordTableTest, ShowsAttemptsThatEndedAndThoseUnderWay) {
  v1::ListAttemptsResponse all;
  v1::Attempt& ended = *all.add_attempts();
  ended.set_draw(12);
  ended.set_number(1);
  ended.set_worker("rollout-0");
  ended.set_samples(8);
  ended.mutable_start_time()->set_seconds(0);
  ended.mutable_end_time()->set_seconds(1);
  ended.mutable_end_time()->set_nanos(250000000);
  ended.set_outcome("done");
  ended.set_tokens(640);
  *all.add_attempts() = ended;
  all.mutable_attempts(1)->clear_end_time();
  EXPECT_EQ(RenderAttempts(all),
            "worker     outcome    started                   seconds  draw  number  samples  tokens\n"
            "rollout-0  done       1970-01-01T00:00:00.000Z    1.250    12       1        8     640\n"
            "rollout-0  under way  1970-01-01T00:00:00.000Z        -    12       1        8     640\n");
}

TEST(RecordTableTest, ShowsWhatIsInQuarantineAndWhy) {
  v1::ListQuarantineResponse all;
  v1::QuarantinedSample& sample = *all.add_samples();
  sample.set_draw(7);
  sample.set_index(2);
  sample.set_prompt_row(-1);
  sample.set_reason("could not be generated: it crashes");
  sample.set_attempts(3);
  EXPECT_EQ(RenderQuarantine(all),
            "sample  row  prompt  attempts  time  released  reason\n"
            "7/2     -            3         -     no        could not be generated: it crashes\n");
}

}  // namespace
}  // namespace sluice::cli
