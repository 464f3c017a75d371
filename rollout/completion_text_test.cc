#include "rollout/completion_text.h"

#include <string>
#include <vector>

#include "gtest/gtest.h"

namespace sluice {
namespace {

// Tokens are the given pieces; those that begin with "<|" are special.
class PieceTokenizer final : public Tokenizer {
 public:
  explicit PieceTokenizer(std::vector<std::string> pieces) : pieces_(std::move(pieces)) {}
  absl::StatusOr<std::vector<int32_t>> Encode(absl::string_view, bool) const override {
    return absl::UnimplementedError("not needed");
  }
  std::string Decode(const std::vector<int32_t>& ids, bool skip_special_tokens) const override {
    std::string out;
    for (int32_t id : ids) {
      const std::string piece = TokenBytes(id);
      if (!skip_special_tokens || piece.rfind("<|", 0) != 0) out += piece;
    }
    return out;
  }
  std::string TokenBytes(int32_t id) const override { return pieces_[static_cast<size_t>(id)]; }
  int32_t TokenId(absl::string_view) const override { return -1; }
  int32_t vocab_size() const override { return static_cast<int32_t>(pieces_.size()); }

 private:
  std::vector<std::string> pieces_;
};

struct Outcome {
  size_t tokens = 0;  // taken before a stop; all when nothing stopped
  bool stopped = false;
  std::string text;
};

Outcome Feed(const std::vector<std::string>& pieces, const std::vector<std::string>& stops,
             bool drop_last = false) {
  const PieceTokenizer tokenizer(pieces);
  CompletionText text(&tokenizer, &stops);
  Outcome out;
  while (out.tokens < pieces.size() && !out.stopped)
    out.stopped = text.Append(static_cast<int32_t>(out.tokens++));
  out.text = text.Text(drop_last);
  return out;
}

TEST(CompletionTextTest, AStopTextAcrossTokensEndsAtTheTokenThatCompletesIt) {
  const Outcome out = Feed({"The <", "/ans", "wer", "> is", " more"}, {"</answer>"});
  EXPECT_TRUE(out.stopped);
  EXPECT_EQ(out.tokens, 4u);
  EXPECT_EQ(out.text, "The ");
}

TEST(CompletionTextTest, TheEarliestOfSeveralStopTextsCuts) {
  const Outcome out = Feed({"a", "b XY Z", "c"}, {"Z", "XY", "none"});
  EXPECT_EQ(out.tokens, 2u);
  EXPECT_EQ(out.text, "ab ");
}

TEST(CompletionTextTest, AStopTextWithinOneTokenCuts) {
  const Outcome out = Feed({"x", "1\n\n2"}, {"\n\n"});
  EXPECT_TRUE(out.stopped);
  EXPECT_EQ(out.text, "x1");
}

TEST(CompletionTextTest, OverlappingBeginningsDoNotHideAStopText) {
  EXPECT_EQ(Feed({"a", "a", "a", "b", "c"}, {"aab"}).text, "a");
  EXPECT_EQ(Feed({"aa", "ab"}, {"aab"}).text, "a");
}

TEST(CompletionTextTest, SpecialTokensCanStopAndAreNotShown) {
  EXPECT_EQ(Feed({"hello", "<|im|>", " world"}, {}).text, "hello world");
  const Outcome out = Feed({"hello", "<|im|>", " world"}, {"<|im|>"});
  EXPECT_EQ(out.tokens, 2u);
  EXPECT_EQ(out.text, "hello");
}

TEST(CompletionTextTest, AStopTokenIsLeftOutOfTheText) {
  EXPECT_EQ(Feed({"one", "two"}, {}, true).text, "one");
  EXPECT_EQ(Feed({"one", "two"}, {}, false).text, "onetwo");
}

TEST(CompletionTextTest, WithoutATokenizerThereIsNoText) {
  const std::vector<std::string> stops;
  CompletionText text(nullptr, &stops);
  EXPECT_FALSE(text.Append(3));
  EXPECT_EQ(text.Text(false), "");
}

TEST(CompletionTextTest, CharactersSplitOverTokensAreWhole) {
  EXPECT_EQ(Feed({"\xE2\x82", "\xAC!"}, {}).text, "\xE2\x82\xAC!");
  EXPECT_EQ(Feed({"a\xE2\x82"}, {}).text, "a\xEF\xBF\xBD");
}

TEST(ValidUtf8Test, ReplacesMaximalInvalidParts) {
  const std::string r = "\xEF\xBF\xBD";
  const struct {
    std::string in, out;
  } table[] = {
      {"plain", "plain"},
      {"\xC3\xA9\xE2\x82\xAC\xF0\x9F\x98\x80", "\xC3\xA9\xE2\x82\xAC\xF0\x9F\x98\x80"},
      {"\x80", r},
      {"\xC0\xAF", r + r},                  // overlong
      {"\xE0\x80\xAF", r + r + r},          // overlong
      {"\xED\xA0\x80", r + r + r},          // surrogate
      {"\xF4\x90\x80\x80", r + r + r + r},  // above U+10FFFF
      {"\xF0\x9F\x98", r},                  // cut off: one maximal part
      {"\xF0\x9F"
       "A",
       r + "A"},
      {"\xE2\x82\xE2\x82\xAC", r + "\xE2\x82\xAC"},
  };
  for (const auto& row : table) EXPECT_EQ(ToValidUtf8(row.in), row.out);
}

}  // namespace
}  // namespace sluice
