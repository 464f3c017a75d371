#include "rollout/completion_text.h"

#include <string>
#include <vector>

#include "absl/strings/str_format.h"
#include "core/base/random.h"
#include "core/spec/text/unicode.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "nlohmann/json.hpp"

namespace sluice {
namespace {

// Tokens are the given pieces; those that begin with "<|" are special.
class PieceTokenizer final : public Tokenizer {
 public:
  explicit PieceTokenizer(std::vector<std::string> pieces) : pieces_(std::move(pieces)) {}
  absl::StatusOr<std::vector<int32_t>> Encode(absl::string_view, bool) const override {
    return absl::UnimplementedError("not needed");
  }
  std::unique_ptr<TextDecoder> NewDecoder(bool skip_special_tokens) const override {
    return std::make_unique<PieceDecoder>(*this, skip_special_tokens);
  }
  std::string TokenBytes(int32_t id) const override { return pieces_[static_cast<size_t>(id)]; }
  bool IsSpecial(int32_t id) const override { return TokenBytes(id).rfind("<|", 0) == 0; }
  int32_t TokenId(absl::string_view) const override { return -1; }
  int32_t vocab_size() const override { return static_cast<int32_t>(pieces_.size()); }

 private:
  class PieceDecoder final : public TextDecoder {
   public:
    PieceDecoder(const PieceTokenizer& tokenizer, bool skip) : tokenizer_(tokenizer), skip_(skip) {}
    std::string Next(int32_t id) override {
      if (skip_ && tokenizer_.IsSpecial(id)) return "";
      bytes_ += tokenizer_.TokenBytes(id);
      const size_t whole = bytes_.size() - UnfinishedUtf8(bytes_);
      const std::string out = ReplaceInvalidUtf8(bytes_.substr(0, whole));
      bytes_.erase(0, whole);
      return out;
    }
    std::string Pending() const override { return ReplaceInvalidUtf8(bytes_); }

   private:
    const PieceTokenizer& tokenizer_;
    bool skip_;
    std::string bytes_;
  };
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

TEST(CompletionTextTest, StopTextsWaitWhileTold) {
  const std::vector<std::string> pieces = {"a\n\n", "b", "\n", "\nc"}, stops = {"\n\n"};
  const PieceTokenizer tokenizer(pieces);
  CompletionText text(&tokenizer, &stops);
  EXPECT_FALSE(text.Append(0, /*stops_wait=*/true));
  EXPECT_FALSE(text.Append(1, /*stops_wait=*/true));
  EXPECT_FALSE(text.Append(2));
  EXPECT_TRUE(text.Append(3));
  EXPECT_EQ(text.Text(false), "a\n\nb");
}

// What Take gives after each piece, and TakeRest in the end.
std::vector<std::string> Stream(const std::vector<std::string>& pieces, const std::vector<std::string>& stops,
                                bool drop_last = false) {
  const PieceTokenizer tokenizer(pieces);
  CompletionText text(&tokenizer, &stops);
  std::vector<std::string> out;
  for (size_t i = 0; i < pieces.size(); ++i) {
    const bool stopped = text.Append(static_cast<int32_t>(i));
    if (stopped || i + 1 == pieces.size()) break;
    out.push_back(text.Take());
  }
  out.push_back(text.TakeRest(drop_last));
  return out;
}

TEST(CompletionTextTest, StreamsWholeCharacters) {
  EXPECT_THAT(Stream({"a", "\xE2", "\x82", "\xAC!", "b"}, {}),
              testing::ElementsAre("a", "", "", "\u20AC!", "b"));
  EXPECT_THAT(Stream({"\xE2", "x", "\xF0\x9F"}, {}), testing::ElementsAre("", "\uFFFDx", "\uFFFD"));
}

TEST(CompletionTextTest, HoldsBackWhatMayBecomeAStopText) {
  EXPECT_THAT(Stream({"a<", "/b", "c", "</e", "nd>x"}, {"</end>"}),
              testing::ElementsAre("a", "</b", "c", "", ""));
  EXPECT_THAT(Stream({"aab", "aa", "c", "d"}, {"aabaac", "zz"}), testing::ElementsAre("", "", ""));
  EXPECT_THAT(Stream({"x\n", "y\n", "\n"}, {"\n\n"}), testing::ElementsAre("x", "\ny", ""));
}

TEST(CompletionTextTest, StreamsNoSpecialTokens) {
  EXPECT_THAT(Stream({"a", "<|im|>", "b", "<|e|>"}, {}), testing::ElementsAre("a", "", "b", ""));
  EXPECT_THAT(Stream({"a", "<|im|>", "b", "c"}, {"<|im|>bc"}), testing::ElementsAre("a", "", "", ""));
  EXPECT_THAT(Stream({"a", "<|im|>", "b", "d"}, {"<|im|>bc"}), testing::ElementsAre("a", "", "", "bd"));
}

TEST(CompletionTextTest, TheLastTokenCanBeLeftOutOfAStream) {
  EXPECT_THAT(Stream({"one", "\xE2\x82", "two"}, {}, true), testing::ElementsAre("one", "", "\uFFFD"));
}

// SentencePiece's decoder: the first space goes, runs of byte tokens become characters or are replaced whole.
std::unique_ptr<const Tokenizer> ByteFallbackTokenizer() {
  nlohmann::json vocab = {{"<unk>", 0}, {"\u2581", 1}, {"\u2581a", 2}, {"b", 3}, {"<s>", 4}};
  for (int byte : {0x0A, 0xE2, 0x82, 0xAC, 0xFF, 0x41})
    vocab[absl::StrFormat("<0x%02X>", byte)] = vocab.size();
  const nlohmann::json json = {
      {"model",
       {{"type", "BPE"}, {"vocab", vocab}, {"merges", nlohmann::json::array()}, {"byte_fallback", true}}},
      {"added_tokens", {{{"id", 4}, {"content", "<s>"}, {"special", true}}}},
      {"decoder",
       {{"type", "Sequence"},
        {"decoders",
         {{{"type", "Replace"}, {"pattern", {{"String", "\u2581"}}}, {"content", " "}},
          {{"type", "ByteFallback"}},
          {{"type", "Fuse"}},
          {{"type", "Strip"}, {"content", " "}, {"start", 1}, {"stop", 0}}}}}}};
  auto tokenizer = ParseTokenizer(json.dump());
  EXPECT_TRUE(tokenizer.ok()) << tokenizer.status();
  return *std::move(tokenizer);
}

TEST(CompletionTextTest, AStopTextOfByteTokensStopsAtOnce) {
  const auto tokenizer = ByteFallbackTokenizer();
  const std::vector<std::string> stops = {"\n\n"};
  CompletionText text(tokenizer.get(), &stops);
  const int32_t newline = tokenizer->TokenId("<0x0A>");
  EXPECT_FALSE(text.Append(2));
  EXPECT_FALSE(text.Append(newline));
  EXPECT_EQ(text.Take(), "a");
  EXPECT_TRUE(text.Append(newline));
  EXPECT_EQ(text.TakeRest(false), "");
  EXPECT_EQ(text.Text(false), "a");
}

// Whatever the tokens, and wherever text is taken: the parts are together what Decode gives, up to the first
// stop text in it, and a completion that goes on from given tokens streams what is left.
TEST(CompletionTextTest, ThePartsOfAStreamAreTheDecodedText) {
  const auto tokenizer = ByteFallbackTokenizer();
  const std::vector<std::vector<std::string>> all_stops = {{}, {"ab", "\n\n"}, {" a", "b b", "\u20AC"}};
  for (uint64_t seed = 0; seed < 6000; ++seed) {
    uint64_t counter = 0;
    const auto draw = [&](uint64_t below) { return BitsAt(seed, RandomDomain::kShuffle, counter++) % below; };
    const std::vector<std::string>& stops = all_stops[seed % all_stops.size()];
    std::vector<int32_t> ids(1 + draw(12));
    for (int32_t& id : ids) id = static_cast<int32_t>(draw(static_cast<uint64_t>(tokenizer->vocab_size())));
    CompletionText text(tokenizer.get(), &stops), resumed(tokenizer.get(), &stops);
    std::string parts, first;
    std::vector<int32_t> given;
    bool stopped = false;
    for (int32_t id : ids) {
      if (stopped) break;
      stopped = text.Append(id);
      given.push_back(id);
      if (draw(2) == 0 && !stopped) parts += text.Take();
    }
    const size_t resume_at = draw(given.size());
    for (size_t i = 0; i < given.size(); ++i) {
      resumed.Append(given[i]);
      if (i + 1 == resume_at) first = resumed.Take();
    }
    parts += text.TakeRest(false);
    ASSERT_EQ(parts, text.Text(false)) << seed;
    ASSERT_EQ(first + resumed.TakeRest(false), parts) << seed;
    const std::string whole = tokenizer->Decode(given, true);
    ASSERT_EQ(whole.substr(0, parts.size()), parts) << seed;
    if (!stopped) {
      ASSERT_EQ(parts, whole) << seed;
    }
  }
}

}  // namespace
}  // namespace sluice
