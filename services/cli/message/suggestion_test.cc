#include "services/cli/message/suggestion.h"

#include "gtest/gtest.h"

namespace sluice::cli {
namespace {

TEST(SuggestionTest, NamesTheCommandThatWasMeant) {
  const std::vector<std::string> commands = {"demo", "submit", "jobs"};
  EXPECT_EQ(UnknownCommand("submti", commands), "there is no command \"submti\" (did you mean submit?)");
}

TEST(SuggestionTest, NamesNothingWhenNothingIsNear) {
  EXPECT_EQ(UnknownCommand("frobnicate", {"demo", "submit"}), "there is no command \"frobnicate\"");
}

}  // namespace
}  // namespace sluice::cli
