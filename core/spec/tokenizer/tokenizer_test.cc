#include "core/spec/tokenizer/tokenizer.h"

#include <string>

#include "core/spec/text/regex.h"
#include "core/spec/text/unicode.h"
#include "core/spec/tiny_model.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace sluice {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

std::unique_ptr<const Tokenizer> Make(const nlohmann::json& json) {
  auto tokenizer = ParseTokenizer(json.dump());
  EXPECT_TRUE(tokenizer.ok()) << tokenizer.status();
  return *std::move(tokenizer);
}

// The bytes of each token of `text`, as the pre-tokenizer of `json` splits it.
std::vector<std::string> Tokens(const nlohmann::json& json, const std::string& text) {
  const auto tokenizer = Make(json);
  std::vector<std::string> out;
  const absl::StatusOr<std::vector<int32_t>> ids = tokenizer->Encode(text, false);
  EXPECT_TRUE(ids.ok()) << ids.status();
  for (int32_t id : *ids) out.push_back(tokenizer->TokenBytes(id));
  return out;
}

std::string ErrorOf(const nlohmann::json& json) {
  return std::string(ParseTokenizer(json.dump()).status().message());
}

TEST(Tokenizer, MergesByRank) {
  EXPECT_THAT(Tokens(TinyTokenizer(), "hello w"), ElementsAre("hello", " w"));
  EXPECT_THAT(Tokens(TinyTokenizer(), "helhello"), ElementsAre("he", "l", "hello"));
  EXPECT_THAT(Tokens(TinyTokenizer(), "llll"), ElementsAre("ll", "ll"));
  EXPECT_THAT(Tokens(TinyTokenizer(), ""), ElementsAre());
}

TEST(Tokenizer, AddsThePostProcessorsTokens) {
  const auto tokenizer = Make(TinyTokenizer());
  EXPECT_THAT(*tokenizer->Encode("hello", true), ElementsAre(261, 259));
  EXPECT_THAT(*tokenizer->Encode("", true), ElementsAre(261));
}

TEST(Tokenizer, RoundTripsEveryByteSequenceOfUtf8) {
  const auto tokenizer = Make(TinyTokenizer());
  const std::string text = "héllo wörld\n\t 你好 🙂 \x01\x7f e\u0301 0123";
  EXPECT_EQ(tokenizer->Decode(*tokenizer->Encode(text, true), true), text);
}

TEST(Tokenizer, FindsAddedTokensFirst) {
  EXPECT_THAT(Tokens(TinyTokenizer(), "hello</s><think>he"), ElementsAre("hello", "</s>", "<think>", "he"));
  const auto tokenizer = Make(TinyTokenizer());
  EXPECT_EQ(tokenizer->Decode({259, 262, 263}, true), "hello<think>");
  EXPECT_EQ(tokenizer->Decode({259, 262, 263}, false), "hello</s><think>");
  EXPECT_EQ(tokenizer->TokenId("</s>"), 262);
  EXPECT_EQ(tokenizer->TokenId("absent"), -1);
  EXPECT_EQ(tokenizer->vocab_size(), 264);
}

TEST(Tokenizer, ObeysTheFlagsOfAddedTokens) {
  nlohmann::json json = TinyTokenizer();
  nlohmann::json& token = json["added_tokens"][2];
  token["lstrip"] = true;
  token["rstrip"] = true;
  EXPECT_THAT(Tokens(json, "he  <think>  he"), ElementsAre("he", "<think>", "he"));
  token["single_word"] = true;
  token["content"] = "think";
  EXPECT_THAT(Tokens(json, "he think"), ElementsAre("he", "think"));
  EXPECT_THAT(Tokens(json, "rethink").size(), 7u);
}

TEST(Tokenizer, PrefersTheLongestAddedToken) {
  nlohmann::json json = TinyTokenizer();
  nlohmann::json longer = json["added_tokens"][2];
  longer["id"] = 264;
  longer["content"] = "<think>!";
  json["added_tokens"].push_back(longer);
  EXPECT_THAT(Tokens(json, "<think>!"), ElementsAre("<think>!"));
}

TEST(Tokenizer, NormalizesBeforeSplitting) {
  nlohmann::json json = TinyTokenizer();
  const size_t decomposed = Tokens(json, "e\u0301").size();
  json["normalizer"] = {{"type", "Sequence"}, {"normalizers", {{{"type", "NFC"}}}}};
  EXPECT_EQ(decomposed, 3u);
  EXPECT_THAT(Tokens(json, "e\u0301"), ElementsAre("\xC3", "\xA9"));
}

TEST(Tokenizer, IgnoresMergesForWholeTokensWhenTold) {
  nlohmann::json json = TinyTokenizer();
  json["model"]["vocab"]["wow"] = 264;
  EXPECT_THAT(Tokens(json, "wow"), ElementsAre("w", "o", "w"));
  json["model"]["ignore_merges"] = true;
  EXPECT_THAT(Tokens(json, "wow"), ElementsAre("wow"));
}

// Splits with one pre-tokenizer; pieces are seen as tokens because every piece of the texts below is in the
// vocabulary.
std::vector<std::string> Pieces(nlohmann::json part, const std::string& text,
                                const std::vector<std::string>& words) {
  nlohmann::json json = TinyTokenizer();
  json["model"]["ignore_merges"] = true;
  int id = 300;
  for (const std::string& word : words) json["model"]["vocab"][ToByteLevel(word)] = id++;
  const nlohmann::json bytes = {{"type", "ByteLevel"}, {"add_prefix_space", false}, {"use_regex", false}};
  json["pre_tokenizer"] = {{"type", "Sequence"}, {"pretokenizers", {std::move(part), bytes}}};
  return Tokens(json, text);
}

nlohmann::json SplitBy(const char* behavior, bool invert = false) {
  return {{"type", "Split"}, {"pattern", {{"String", "-"}}}, {"behavior", behavior}, {"invert", invert}};
}

TEST(PreTokenizer, SplitsAsItsBehaviorSays) {  // the examples of the tokenizers
                                               // library's documentation
  const std::string text = "the-final--countdown";
  const std::vector<std::string> words = {"the",  "final",  "countdown",  "--",
                                          "the-", "final-", "-countdown", "-final"};
  EXPECT_THAT(Pieces(SplitBy("Removed"), text, words), ElementsAre("the", "final", "countdown"));
  EXPECT_THAT(Pieces(SplitBy("Isolated"), text, words),
              ElementsAre("the", "-", "final", "-", "-", "countdown"));
  EXPECT_THAT(Pieces(SplitBy("MergedWithPrevious"), text, words),
              ElementsAre("the-", "final-", "-", "countdown"));
  EXPECT_THAT(Pieces(SplitBy("MergedWithNext"), text, words),
              ElementsAre("the", "-final", "-", "-countdown"));
  EXPECT_THAT(Pieces(SplitBy("Contiguous"), text, words),
              ElementsAre("the", "-", "final", "--", "countdown"));
  EXPECT_THAT(Pieces(SplitBy("Removed", true), text, words), ElementsAre("-", "-", "-"));
}

TEST(PreTokenizer, SplitsDigitsAndPunctuation) {
  const std::vector<std::string> words = {"ab", "12", "!?", "ab12"};
  EXPECT_THAT(Pieces({{"type", "Digits"}, {"individual_digits", false}}, "ab12", words),
              ElementsAre("ab", "12"));
  EXPECT_THAT(Pieces({{"type", "Digits"}, {"individual_digits", true}}, "ab12", words),
              ElementsAre("ab", "1", "2"));
  EXPECT_THAT(Pieces({{"type", "Punctuation"}}, "ab!?", words), ElementsAre("ab", "!", "?"));
  EXPECT_THAT(Pieces({{"type", "WhitespaceSplit"}}, "ab \n 12", words), ElementsAre("ab", "12"));
}

TEST(Tokenizer, ReplacesBrokenUtf8WhenDecoding) {
  EXPECT_EQ(ReplaceInvalidUtf8("a\xE4\xBD"),
            "a\uFFFD");                                       // one broken character, one replacement
  EXPECT_EQ(ReplaceInvalidUtf8("\xC0\xAF"), "\uFFFD\uFFFD");  // overlong
  EXPECT_EQ(ReplaceInvalidUtf8("\xED\xA0\x80x"),
            "\uFFFD\uFFFD\uFFFDx");  // a surrogate
  EXPECT_EQ(ReplaceInvalidUtf8("\xF0\x9F\x98y"), "\uFFFDy");
  const auto tokenizer = Make(TinyTokenizer());
  EXPECT_EQ(tokenizer->Decode({0xE4, 'a', -1, 9999}, false), "\uFFFDa");
}

TEST(Tokenizer, KeepsTheBeginningOfACharacter) {
  const struct {
    const char* bytes;
    size_t unfinished;
  } table[] = {{"", 0},         {"a", 0},         {"\xC3", 1},
               {"\xC3\xA9", 0}, {"a\xE2\x82", 2}, {"\xF0\x9F\x98", 3},
               {"\xE0\x80", 0}, {"\x82\x82", 0},  {"\xF0\x9F\x98\x80", 0},
               {"\xED\xA0", 0}, {"\xFF", 0},      {"\xC0", 0}};
  for (const auto& row : table) EXPECT_EQ(UnfinishedUtf8(row.bytes), row.unfinished) << row.bytes;
}

TEST(Tokenizer, FallsBackToBytes) {
  nlohmann::json json = TinyTokenizer();
  nlohmann::json vocab = {{"<unk>", 0}, {"a", 1}, {"<0xC3>", 2}, {"<0xA9>", 3}, {"<s>", 261}, {"</s>", 262}};
  json["model"] = {
      {"type", "BPE"}, {"vocab", vocab}, {"merges", nlohmann::json::array()}, {"byte_fallback", true}};
  json["pre_tokenizer"] = nullptr;
  json["decoder"] = {{"type", "ByteFallback"}};
  const auto tokenizer = Make(json);
  EXPECT_THAT(*tokenizer->Encode("a\u00e9", false), ElementsAre(1, 2, 3));
  EXPECT_EQ(tokenizer->Decode({1, 2, 3, 1, 2, 1}, false), "a\u00e9a\uFFFDa");
  EXPECT_EQ(tokenizer->TokenBytes(2), "\xC3");
}

TEST(Tokenizer, NamesTheCharactersItLeavesOut) {
  nlohmann::json json = TinyTokenizer();
  json["model"]["vocab"].erase("\u00f0");  // the byte F0
  const auto tokenizer = Make(json);
  EXPECT_THAT(tokenizer->UnknownCharacters("a \U0001f642\U0001f642"), ElementsAre("<0xF0>"));
  EXPECT_THAT(Make(TinyTokenizer())->UnknownCharacters("a \U0001f642"), ElementsAre());
  json["model"]["unk_token"] = "he";
  EXPECT_THAT(Make(json)->UnknownCharacters("a \U0001f642"), ElementsAre());
}

TEST(Tokenizer, RefusesTextThatIsNotUtf8) {
  EXPECT_THAT(std::string(Make(TinyTokenizer())->Encode("ab\xff", false).status().message()),
              HasSubstr("byte 2"));
}

TEST(Tokenizer, EncodesALongPieceQuickly) {
  const std::string text(300'000, 'l');
  EXPECT_EQ(Make(TinyTokenizer())->Encode(text, false)->size(), 150'000u);
}

TEST(Tokenizer, NamesWhatItRefuses) {
  const auto error_with = [](const char* pointer, const nlohmann::json& value) {
    nlohmann::json json = TinyTokenizer();
    json[nlohmann::json::json_pointer(pointer)] = value;
    return ErrorOf(json);
  };
  EXPECT_THAT(error_with("/model/type", "Unigram"), HasSubstr("model: field \"type\""));
  EXPECT_THAT(error_with("/model/merges", {"h e", "nosuch x"}), HasSubstr("merges[1]"));
  EXPECT_THAT(error_with("/model/merges", {"h"}), HasSubstr("merges[0]"));
  EXPECT_THAT(error_with("/model/merges", {"h e l"}), HasSubstr("merges[0]"));
  EXPECT_THAT(error_with("/model/merges", {{1, 2}}), HasSubstr("merges[0]"));
  EXPECT_THAT(error_with("/model/merges", 3), HasSubstr("merges"));
  EXPECT_THAT(error_with("/model/vocab", nlohmann::json::array()), HasSubstr("vocab"));
  EXPECT_THAT(error_with("/model/vocab/he", -1), HasSubstr("he"));
  EXPECT_THAT(error_with("/model/vocab/he", 1), HasSubstr("stands for two tokens"));
  EXPECT_THAT(error_with("/model/vocab/he", 1'000'000'000'000), HasSubstr("he"));
  EXPECT_THAT(error_with("/model/unk_token", "absent"), HasSubstr("unk_token"));
  EXPECT_THAT(error_with("/model/dropout", 0.5), HasSubstr("dropout"));
  EXPECT_THAT(error_with("/model/end_of_word_suffix", "</w>"), HasSubstr("end_of_word_suffix"));
  EXPECT_THAT(error_with("/normalizer", {{"type", "Precompiled"}}), HasSubstr("normalizer: field \"type\""));
  EXPECT_THAT(error_with("/normalizer", {{"type", "Replace"}, {"content", ""}}),
              HasSubstr("normalizer.pattern"));
  EXPECT_THAT(error_with("/pre_tokenizer", {{"type", "UnicodeScripts"}}), HasSubstr("UnicodeScripts"));
  EXPECT_THAT(error_with("/pre_tokenizer", {{"type", "Metaspace"}, {"prepend_scheme", "often"}}),
              HasSubstr("often"));
  EXPECT_THAT(error_with("/pre_tokenizer", {{"type", "Metaspace"}, {"replacement", "__"}}),
              HasSubstr("replacement"));
  EXPECT_THAT(error_with("/post_processor", {{"type", "BertProcessing"}, {"cls", 3}}), HasSubstr("cls"));
  EXPECT_THAT(error_with("/decoder", nullptr), HasSubstr("decoder is missing"));
  EXPECT_THAT(error_with("/decoder/type", "WordPiece"), HasSubstr("WordPiece"));
  EXPECT_THAT(error_with("/decoder",
                         {{"type", "Sequence"}, {"decoders", {{{"type", "Fuse"}}, {{"type", "ByteLevel"}}}}}),
              HasSubstr("decoders[1]"));
  EXPECT_THAT(error_with("/post_processor/special_tokens", nullptr), HasSubstr("<s>"));
  EXPECT_THAT(error_with("/post_processor/special_tokens/<s>/ids", {99999}), HasSubstr("99999"));
  EXPECT_THAT(error_with("/added_tokens/0/id", 5), HasSubstr("<s>"));
  EXPECT_THAT(error_with("/added_tokens/0/id", 262), HasSubstr("added_tokens[1]"));
  EXPECT_THAT(error_with("/added_tokens/0/content", ""), HasSubstr("content"));
  EXPECT_FALSE(ParseTokenizer("{").ok());
  EXPECT_FALSE(ParseTokenizer("null").ok());
}

std::vector<std::string> Matches(const char* pattern, const std::string& text) {
  auto regex = Regex::Compile(pattern);
  EXPECT_TRUE(regex.ok()) << regex.status();
  std::vector<std::string> out;
  const absl::StatusOr<std::vector<ByteSpan>> spans = (*regex)->FindAll(text);
  EXPECT_TRUE(spans.ok()) << spans.status();
  for (const auto& [begin, end] : *spans) out.push_back(text.substr(begin, end - begin));
  return out;
}

TEST(Regex, ReadsOnigurumaAsItIsMeant) {
  EXPECT_THAT(Matches(R"((?i:'s|'t)|\p{L}+)", "it'S"), ElementsAre("it", "'S"));
  EXPECT_THAT(Matches(R"(\s+)", "a\u3000\u00a0b\u180ec"),
              ElementsAre("\u3000\u00a0"));  // U+180E is no space
  EXPECT_THAT(Matches(R"([^\s\p{L}]+)", "a\u180e b"), ElementsAre("\u180e"));
  EXPECT_THAT(Matches(R"([\p{L}&&[^\p{Han}]]+)", "ab你好c"), ElementsAre("ab", "c"));
  EXPECT_THAT(Matches(R"(\s+(?!\S)|\s+)", "a   b"), ElementsAre("  ", " "));
  EXPECT_THAT(Matches(R"(^b)", "a\nb"), ElementsAre("b"));  // ^ is at every line
  EXPECT_THAT(Matches(R"([\]\[a]+)", "[a]x"), ElementsAre("[a]"));
}

TEST(Regex, RefusesWhatItWouldMisread) {
  for (const char* pattern :
       {"\\h", "(?m:.)", "[a[bc]]", "\\p{N}{1,3}+", "[a", "(", "\\", "\\1", "\\pL", "[a&&b]"}) {
    EXPECT_FALSE(Regex::Compile(pattern).ok()) << pattern;
  }
}

TEST(Regex, StopsARunawayMatch) {
  auto regex = Regex::Compile("((a|aa)+)+[^a]b");
  ASSERT_TRUE(regex.ok()) << regex.status();
  const auto runaway = (*regex)->FindAll(std::string(200, 'a') + "ccb");
  EXPECT_TRUE(absl::IsResourceExhausted(runaway.status())) << runaway.status();
}

}  // namespace
}  // namespace sluice
