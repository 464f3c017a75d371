#include "coordinator/jobs/reward_patterns.h"

#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace sluice {
namespace {

TEST(CheckPatterns, NamesTheComponentAndThePlace) {
  const absl::Status status =
      CheckPatterns({{{"answer", 1, MathScorerSpec{}}, {"form", 1, RegexScorerSpec{"a(b"}}}});
  EXPECT_EQ(status.code(), absl::StatusCode::kInvalidArgument);
  EXPECT_THAT(std::string(status.message()), testing::HasSubstr("\"form\""));
  EXPECT_THAT(std::string(status.message()), testing::HasSubstr("offset 3"));
}

TEST(CheckPatterns, TakesGoodPatterns) {
  EXPECT_TRUE(CheckPatterns({{{"form", 1, RegexScorerSpec{"<answer>.*</answer>"}}}}).ok());
}

}  // namespace
}  // namespace sluice
