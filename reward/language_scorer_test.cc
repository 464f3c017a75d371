#include "reward/language_scorer.h"

#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace sluice {
namespace {

ItemJudgement Judge(const std::string& language, const std::string& completion) {
  auto scorer = LanguageItemScorer::Create({language});
  EXPECT_TRUE(scorer.ok()) << scorer.status();
  ScoreItem item;
  item.completion = completion;
  return (*scorer)->Judge(item);
}

constexpr char kRussian[] = "\xD0\x94\xD0\xB0";           // 2 letters
constexpr char kChinese[] = "\xE4\xBD\xA0\xE5\xA5\xBD";   // 2 letters
constexpr char kJapanese[] = "\xE3\x81\x82\xE6\x97\xA5";  // one kana, one kanji

TEST(LanguageScorer, PaysTheShareOfLettersInTheScript) {
  EXPECT_EQ(Judge("en", "All in English, 100 %.").value, 1);
  EXPECT_EQ(Judge("fr", "d\xC3\xA9j\xC3\xA0 vu").value, 1);
  EXPECT_EQ(Judge("ru", kRussian).kind, VerdictKind::kCorrect);
  EXPECT_EQ(Judge("en", kRussian).kind, VerdictKind::kWrong);
  EXPECT_DOUBLE_EQ(Judge("en", std::string("abcdef") + kChinese).value, 0.75);
  EXPECT_DOUBLE_EQ(Judge("zh", std::string("ab") + kChinese).value, 0.5);
  EXPECT_EQ(Judge("ja", kJapanese).value, 1);
  EXPECT_EQ(Judge("zh", kJapanese).value, 0.5);
}

TEST(LanguageScorer, LeavesCodeFormulasCommandsAndTagsOut) {
  for (const char* foreign : {"```python\nprint('abc')\n```", "`code`", "$x + y$", "$$abc$$", "\\(abc\\)",
                              "\\[abc\\]", "\\frac", "<think>", "</think>", "```\nabc never closed"}) {
    EXPECT_EQ(Judge("ru", std::string(kRussian) + " " + foreign).value, 1) << foreign;
  }
  EXPECT_LT(Judge("ru", std::string(kRussian) + " it costs $5 and then $7").value, 1);
  EXPECT_LT(Judge("ru", std::string(kRussian) + " `not closed").value, 1);
  EXPECT_LT(Judge("ru", std::string(kRussian) + " a < b and c > d").value, 1);
}

TEST(LanguageScorer, PaysNothingWithoutLetters) {
  for (const char* text : {"", " \n", "42 = 6 * 7 \xFF", "$x + y$", "<think></think>", "```\nabc\n```"}) {
    const ItemJudgement judged = Judge("en", text);
    EXPECT_EQ(judged.value, 0) << text;
    EXPECT_EQ(judged.kind, VerdictKind::kWrong) << text;
    EXPECT_EQ(judged.outcome, "no_letters") << text;
  }
}

TEST(LanguageScorer, StatesItsClass) {
  EXPECT_EQ(Judge("en", "yes").outcome, "in_language");
  EXPECT_EQ(Judge("en", kRussian).outcome, "other_language");
  EXPECT_EQ(Judge("en", std::string("ab") + kChinese).outcome, "mixed");
}

TEST(LanguageScorer, RefusesLanguagesWhoseScriptIsNotKnown) {
  const auto status = LanguageItemScorer::Create({"xx"}).status();
  EXPECT_EQ(status.code(), absl::StatusCode::kInvalidArgument);
  EXPECT_THAT(std::string(status.message()), testing::HasSubstr("language.language: the script of \"xx\""));
}

}  // namespace
}  // namespace sluice
