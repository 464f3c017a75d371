#include "services/cli/chat/chat_line.h"

#include "gtest/gtest.h"

namespace sluice::cli {
namespace {

TEST(ChatLineTest, TellsCommandsFromQuestions) {
  EXPECT_EQ(ChatLineOf(""), ChatLine::kEmpty);
  EXPECT_EQ(ChatLineOf(" \t"), ChatLine::kEmpty);
  EXPECT_EQ(ChatLineOf("/exit "), ChatLine::kExit);
  EXPECT_EQ(ChatLineOf("/reset"), ChatLine::kReset);
  EXPECT_EQ(ChatLineOf("/help"), ChatLine::kUnknownCommand);
  EXPECT_EQ(ChatLineOf("/exit now"), ChatLine::kUnknownCommand);
  EXPECT_EQ(ChatLineOf(" /usr is what?"), ChatLine::kQuestion);
  EXPECT_EQ(ChatLineOf("hello"), ChatLine::kQuestion);
}

}  // namespace
}  // namespace sluice::cli
