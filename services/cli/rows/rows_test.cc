#include <atomic>
#include <filesystem>
#include <fstream>

#include "absl/strings/str_cat.h"
#include "core/base/file.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "services/cli/rows/generate_row.h"
#include "services/cli/rows/json_lines.h"

namespace sluice::cli {
namespace {

using nlohmann::json;
using ::testing::ElementsAre;
using ::testing::HasSubstr;

std::string MessageOf(const absl::Status& status) { return std::string(status.message()); }

TEST(JsonLinesTest, NumbersLinesAsAnEditorDoes) {
  const auto lines = ParseJsonLines("{\"a\":1}\n\n  \r\n{\"b\":2}\r\n{broken\n[1]\n{\"c\":3}");
  ASSERT_EQ(lines.size(), 5u);
  EXPECT_EQ(lines[0].number, 1u);
  EXPECT_EQ(lines[1].number, 4u);
  EXPECT_EQ(lines[1].row->at("b"), 2);
  EXPECT_FALSE(lines[2].row.ok());
  EXPECT_EQ(lines[3].number, 6u);
  EXPECT_THAT(MessageOf(lines[3].row.status()), HasSubstr("not a JSON object"));
  EXPECT_EQ(lines[4].number, 7u);
}

TEST(JsonLinesTest, KeepsTheOrderOfTheInputAndGoesOnAfterErrors) {
  std::string text;
  for (int i = 0; i < 100; ++i)
    absl::StrAppend(&text, i == 42 ? "oops" : absl::StrCat("{\"id\":", i, "}"), "\n");
  std::atomic<int> calls{0};
  std::string written;
  RowsOptions options;
  options.threads = 8;
  const auto outcome = ProcessRows(
      ParseJsonLines(text), 0, options,
      [&](size_t index, const json& row) -> absl::StatusOr<RowResult> {
        ++calls;
        if (row["id"] == 7) return absl::InternalError("seven");
        return RowResult{{{{"id", row["id"]}, {"index", index}}}};
      },
      [&](absl::string_view lines) {
        absl::StrAppend(&written, lines);
        return absl::OkStatus();
      });
  ASSERT_TRUE(outcome.ok()) << outcome.status();
  EXPECT_EQ(calls, 99);
  EXPECT_EQ(outcome->rows, 100u);
  EXPECT_EQ(outcome->done, 100u);
  EXPECT_EQ(outcome->failed, 2u);
  EXPECT_THAT(MessageOf(outcome->first_error), HasSubstr("line 8: seven"));
  const auto out = ParseJsonLines(written);
  ASSERT_EQ(out.size(), 100u);
  for (int i = 0; i < 100; ++i) {
    if (i == 42) {
      EXPECT_EQ(out[i].row->at("line"), 43);
    } else {
      EXPECT_EQ(out[i].row->at("id"), i);
    }
  }
  EXPECT_EQ(out[7].row->at("error"), "seven");
}

// Two lines of each row.
absl::StatusOr<RowResult> Twice(size_t, const json& row) {
  return RowResult{{{{"id", row["id"]}, {"index", 0}}, {{"id", row["id"]}, {"index", 1}}}};
}

TEST(JsonLinesTest, AnInterruptedFileGoesOnBehindItsWholeRows) {
  const std::string input = ::testing::TempDir() + "/rows_resume.jsonl", output = input + ".out";
  std::string text, whole;
  for (int i = 0; i < 5; ++i) {
    absl::StrAppend(&text, "{\"id\":", i, "}\n");
    absl::StrAppend(&whole, "{\"id\":", i, ",\"index\":0}\n{\"id\":", i, ",\"index\":1}\n");
  }
  ASSERT_TRUE(WriteFileAtomically(input, text).ok());
  RowsOptions options;
  options.lines_of_row = [](size_t, const json&) { return 2; };
  const auto interrupted =
      ProcessFile(input, output, options, [&](size_t index, const json& row) -> absl::StatusOr<RowResult> {
        if (index == 2) options.cancel.Cancel();
        return Twice(index, row);
      });
  ASSERT_TRUE(interrupted.ok()) << interrupted.status();
  EXPECT_EQ(interrupted->done, 3u) << "the row under way is finished";
  EXPECT_EQ(*ReadFile(output), whole.substr(0, whole.size() * 3 / 5));
  // Killed in the middle of the third row.
  ASSERT_TRUE(WriteFileAtomically(output, whole.substr(0, whole.size() / 2 + 3)).ok());
  int calls = 0;
  RowsOptions again;
  again.resume = true;
  again.lines_of_row = options.lines_of_row;
  const auto resumed = ProcessFile(input, output, again, [&](size_t index, const json& row) {
    ++calls;
    return Twice(index, row);
  });
  ASSERT_TRUE(resumed.ok()) << resumed.status();
  EXPECT_EQ(calls, 3);
  EXPECT_EQ(resumed->done, 5u);
  EXPECT_EQ(*ReadFile(output), whole);
  ASSERT_TRUE(WriteFileAtomically(output, "{\"id\":\"of another\"}\n").ok());
  EXPECT_THAT(MessageOf(ProcessFile(input, output, again, Twice).status()), HasSubstr("not of this input"));
}

TEST(JsonLinesTest, LeavesTheOldOutputWhenTheInputIsMissing) {
  const std::string output = ::testing::TempDir() + "/rows_test.out";
  std::ofstream(output) << "old";
  const auto outcome = ProcessFile("/does/not/exist.jsonl", output, {}, nullptr);
  EXPECT_EQ(outcome.status().code(), absl::StatusCode::kNotFound);
  EXPECT_EQ(*ReadFile(output), "old");
}

TEST(GenerateRowTest, FillsDefaultsIn) {
  const auto row = ParseGenerateRow(json{{"prompt", "a"}}, 5);
  ASSERT_TRUE(row.ok()) << row.status();
  EXPECT_EQ(row->id, 5);
  EXPECT_EQ(row->n, 1u);
  EXPECT_FALSE(row->seed.has_value());
  EXPECT_EQ(row->sampling, SamplingParams{});
}

TEST(GenerateRowTest, ReadsAllFields) {
  const auto row = ParseGenerateRow(json::parse(R"({"id": "x", "tokens": [1, 2], "temperature": 0, "top_k": 3,
      "top_p": 0.5, "max_tokens": 7, "stop": "end", "ignore_eos": true, "seed": 9, "n": 2, "stop_token_ids": [4]})"),
                                    0);
  ASSERT_TRUE(row.ok()) << row.status();
  EXPECT_EQ(row->id, "x");
  EXPECT_THAT(*row->tokens, ElementsAre(1, 2));
  EXPECT_EQ(row->sampling.temperature, 0);
  EXPECT_EQ(row->sampling.top_k, 3);
  EXPECT_EQ(row->sampling.top_p, 0.5f);
  EXPECT_EQ(row->sampling.max_new_tokens, 7);
  EXPECT_THAT(row->sampling.stop, ElementsAre("end"));
  EXPECT_THAT(row->sampling.stop_token_ids, ElementsAre(4));
  EXPECT_TRUE(row->sampling.ignore_eos);
  EXPECT_EQ(row->seed, 9u);
  EXPECT_EQ(row->n, 2u);
}

TEST(GenerateRowTest, ReadsPenaltiesBiasesAndAlternatives) {
  const auto row = ParseGenerateRow(
      nlohmann::json::parse(
          R"({"prompt": "x", "min_p": 0.25, "repetition_penalty": 1.5, "presence_penalty": -1,
        "frequency_penalty": 2, "logit_bias": {"7": -100}, "min_tokens": 3, "top_logprobs": 2})"),
      0);
  ASSERT_TRUE(row.ok()) << row.status();
  SamplingParams expected;
  expected.min_p = 0.25f;
  expected.repetition_penalty = 1.5f;
  expected.presence_penalty = -1;
  expected.frequency_penalty = 2;
  expected.logit_bias = {{7, -100}};
  expected.min_new_tokens = 3;
  expected.top_logprobs = 2;
  EXPECT_EQ(row->sampling, expected);
  Trajectory t;
  t.tokens = {1, 2};
  t.raw_logprobs = {-1, -2};
  t.alternatives = {{5, -0.5f}, {6, -1}, {7, -0.5f}, {8, -1}};
  EXPECT_EQ(CompletionRow(*row, t)["alternatives"].dump(), "[[[5,-0.5],[6,-1.0]],[[7,-0.5],[8,-1.0]]]");
  for (const char* field : {R"("min_p": 2)", R"("repetition_penalty": 0)", R"("logit_bias": {"x": 1})",
                            R"("logit_bias": {"-1": 1})", R"("logit_bias": {"1": 1000})",
                            R"("min_tokens": 200)", R"("top_logprobs": 21)"}) {
    const std::string text = std::string("{\"prompt\": \"x\", ") + field + "}";
    EXPECT_FALSE(ParseGenerateRow(nlohmann::json::parse(text), 0).ok()) << text;
  }
}

TEST(GenerateRowTest, NamesTheFieldThatIsWrong) {
  const std::pair<const char*, const char*> cases[] = {
      {R"({})", "exactly one of"},
      {R"({"prompt": "a", "tokens": [1]})", "exactly one of"},
      {R"({"prompt": 3})", "\"prompt\""},
      {R"({"tokens": []})", "\"tokens\""},
      {R"({"tokens": [1, -1]})", "place 1"},
      {R"({"tokens": [99999999999]})", "place 0"},
      {R"({"messages": [{"role": "user"}]})", "\"messages\""},
      {R"({"prompt": "a", "temperature": -1})", "\"temperature\""},
      {R"({"prompt": "a", "temperature": "hot"})", "\"temperature\""},
      {R"({"prompt": "a", "top_p": 0})", "\"top_p\""},
      {R"({"prompt": "a", "top_k": 1.5})", "\"top_k\""},
      {R"({"prompt": "a", "max_tokens": 0})", "\"max_tokens\""},
      {R"({"prompt": "a", "n": 0})", "\"n\""},
      {R"({"prompt": "a", "n": 18446744073709551615})", "\"n\""},
      {R"({"prompt": "a", "stop": [1]})", "\"stop\""},
      {R"({"prompt": "a", "ignore_eos": 1})", "\"ignore_eos\""},
      {R"({"prompt": "a", "temprature": 1})", "\"temprature\""}};
  for (const auto& [text, expected] : cases) {
    const auto row = ParseGenerateRow(json::parse(text), 0);
    ASSERT_EQ(row.status().code(), absl::StatusCode::kInvalidArgument) << text;
    EXPECT_THAT(MessageOf(row.status()), HasSubstr(expected)) << text;
  }
}

// One token a byte; a post-processor that puts 1000 first.
class ByteTokenizer final : public Tokenizer {
 public:
  absl::StatusOr<std::vector<int32_t>> Encode(absl::string_view text,
                                              bool add_special_tokens) const override {
    std::vector<int32_t> out;
    if (add_special_tokens) out.push_back(1000);
    for (const unsigned char c : text) out.push_back(c);
    return out;
  }
  std::unique_ptr<TextDecoder> NewDecoder(bool) const override { return nullptr; }
  std::string TokenBytes(int32_t id) const override { return ""; }
  bool IsSpecial(int32_t id) const override { return id == 1000; }
  int32_t TokenId(absl::string_view) const override { return -1; }
  int32_t vocab_size() const override { return 1001; }
};

TEST(GenerateRowTest, AddsSpecialTokensToPromptsButNotToChats) {
  const ByteTokenizer tokenizer;
  const auto chat = ChatTemplate::FromModelFiles(
      R"({"chat_template": "{% for m in messages %}{{ m['content'] }}{% endfor %}"})", "");
  ASSERT_TRUE(chat.ok()) << chat.status();
  const TextEncoder encoder{&tokenizer, chat->get()};
  EXPECT_THAT(*PromptTokens(*ParseGenerateRow(json{{"prompt", "A"}}, 0), encoder), ElementsAre(1000, 'A'));
  EXPECT_THAT(*PromptTokens(*ParseGenerateRow(json{{"tokens", {5}}}, 0), encoder), ElementsAre(5));
  const json messages = {{"messages", {{{"role", "user"}, {"content", "B"}}}}};
  EXPECT_THAT(*PromptTokens(*ParseGenerateRow(messages, 0), encoder), ElementsAre('B'));
  EXPECT_FALSE(PromptTokens(*ParseGenerateRow(json{{"prompt", "A"}}, 0), {}).ok());
}

TEST(GenerateRowTest, WritesTheIndexOnlyWhenThereAreSeveral) {
  GenerateRow row;
  row.id = "x";
  Trajectory t;
  t.key.index = 1;
  t.text = "hi";
  t.tokens = {3};
  t.raw_logprobs = {-0.5f};
  t.finish_reason = FinishReason::kStop;
  EXPECT_EQ(CompletionRow(row, t).dump(),
            R"({"id":"x","text":"hi","tokens":[3],"logprobs":[-0.5],"finish_reason":"stop"})");
  row.n = 2;
  EXPECT_EQ(CompletionRow(row, t)["index"], 1);
}

TEST(FitToModelTest, MakesTheDefaultOfMaxTokensWhatTheContextLeaves) {
  const std::vector<int32_t> tokens(28, 1);
  const std::pair<int64_t, int32_t> cases[] = {{0, 128}, {1000, 128}, {128, 100}, {29, 1}};
  for (const auto& [context, expected] : cases) {
    GenerateRow row = *ParseGenerateRow(json{{"prompt", "a"}}, 0);
    ASSERT_TRUE(FitToModel(tokens, {context, 0}, row).ok()) << context;
    EXPECT_EQ(row.sampling.max_new_tokens, expected) << context;
  }
}

TEST(FitToModelTest, RefusesInTheRowsTerms) {
  const std::vector<int32_t> tokens(28, 7);
  GenerateRow row = *ParseGenerateRow(json{{"prompt", "a"}, {"max_tokens", 128}}, 0);
  EXPECT_EQ(MessageOf(FitToModel(tokens, {128, 8}, row)),
            "\"max_tokens\" is 128; the model's context of 128 leaves 100 after the 28 tokens of \"prompt\"");
  EXPECT_EQ(MessageOf(FitToModel(tokens, {28, 8}, row)),
            "\"prompt\" has 28 tokens and leaves no room in the model's context of 28");
  EXPECT_EQ(MessageOf(FitToModel(tokens, {1000, 7}, row)), "token 7 is not in the vocabulary of 7");
  EXPECT_EQ(MessageOf(CheckFits({1, tokens}, {27, 8})), "28 tokens exceed the model's 27 positions");
  EXPECT_TRUE(CheckFits({1, tokens}, {28, 8}).ok());
}

TEST(FitToModelTest, TranslatesAWorkersRefusal) {
  const absl::Status refused = absl::InvalidArgumentError(
      "127.0.0.1:9: prompt_tokens (4) and sampling.max_new_tokens (200) do not fit");
  EXPECT_EQ(MessageOf(InRowTerms(refused, "127.0.0.1:9")), "prompt (4) and max_tokens (200) do not fit");
  EXPECT_EQ(MessageOf(InRowTerms(refused, "")), "127.0.0.1:9: prompt (4) and max_tokens (200) do not fit");
}

TEST(ScoreRowTest, NeedsTokens) {
  EXPECT_TRUE(ParseScoreRow(json{{"id", 1}, {"tokens", {1, 2}}}, 0).ok());
  EXPECT_FALSE(ParseScoreRow(json{{"id", 1}}, 0).ok());
  EXPECT_FALSE(ParseScoreRow(json{{"tokens", "1 2"}}, 0).ok());
}

TEST(GenerateRowTest, TakesTheNamesOfAJobToo) {
  const auto row = ParseGenerateRow(
      json::parse(R"({"prompt": "a", "max_new_tokens": 7, "min_new_tokens": 2, "stop_token_ids": []})"), 0);
  ASSERT_TRUE(row.ok()) << row.status();
  EXPECT_EQ(row->sampling.max_new_tokens, 7);
  EXPECT_EQ(row->sampling.min_new_tokens, 2);
  EXPECT_FALSE(row->default_max_tokens);
  EXPECT_TRUE(row->sampling.stop_token_ids.empty());
  EXPECT_FALSE(ParseGenerateRow(json{{"prompt", "a"}, {"max_new_tokens", 7}, {"max_tokens", 7}}, 0).ok());
  EXPECT_EQ(MessageOf(ParseGenerateRow(json{{"prompt", "a"}, {"stop", {""}}}, 0).status()),
            "stop: must not be empty");
}

TEST(PromptTokensTest, NamesTheDirectoryWithoutATokenizer) {
  const GenerateRow row = *ParseGenerateRow(json{{"prompt", "a"}}, 0);
  EXPECT_THAT(MessageOf(PromptTokens(row, {nullptr, nullptr, "/m"}).status()),
              HasSubstr("tokenizer.json is missing in /m"));
}

TEST(CheckDistinctTest, RefusesTheFileThatIsRead) {
  const std::string file = ::testing::TempDir() + "/distinct.jsonl";
  std::ofstream(file) << "{}\n";
  EXPECT_FALSE(CheckDistinct(file, ::testing::TempDir() + "/./distinct.jsonl").ok());
  EXPECT_TRUE(CheckDistinct(file, file + ".out").ok());
  EXPECT_TRUE(CheckDistinct(file + ".absent", file + ".absent").ok());
}

}  // namespace
}  // namespace sluice::cli
