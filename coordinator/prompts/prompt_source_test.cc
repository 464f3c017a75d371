#include "coordinator/prompts/prompt_source.h"

#include <filesystem>
#include <fstream>
#include <set>

#include "coordinator/testing_job.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace sluice {
namespace {

using testing::HasSubstr;

class PromptSourceTest : public testing::Test {
 protected:
  PromptSourceTest() : folder_("prompt_source"), spec_(SmallJob(folder_)) {}

  absl::Status Load(const std::string& rows) {
    spec_.prompts.file = folder_.Write("prompts.jsonl", rows);
    return LoadPrompts(spec_, encoder_).status();
  }
  TestFolder folder_;
  BytesEncoder encoder_;
  JobSpec spec_;
};

TEST_F(PromptSourceTest, ReadsRowsWithTheirFields) {
  spec_.prompts.file =
      folder_.Write("p.jsonl",
                    "{\"id\": 7, \"prompt\": \"ab\", \"answer\": 4, \"kind\": \"easy\", \"tags\": [1]}\n"
                    "\n"
                    "{\"prompt\": \"cd\", \"answer\": \"5\"}\n");
  auto set = LoadPrompts(spec_, encoder_);
  ASSERT_TRUE(set.ok()) << set.status();
  ASSERT_EQ(set->training.size(), 2u);
  EXPECT_EQ(set->training[0].uid, "7");
  EXPECT_EQ(set->training[0].tokens.size(), 2u);
  EXPECT_EQ(set->training[0].fields.at("answer"), "4");
  EXPECT_EQ(set->training[0].fields.at("tags"), "[1]");
  EXPECT_EQ(set->training[1].uid, "line-3");
}

TEST_F(PromptSourceTest, NumbersOfAnExpressionHaveEitherName) {
  spec_.reward.components = {{"answer", 1, ExpressionScorerSpec{}}};
  for (const char* name : {"numbers", "nums"}) {
    const std::string row =
        std::string("{\"prompt\": \"ab\", \"target\": \"3\", \"") + name + "\": \"1 2\"}\n";
    EXPECT_TRUE(Load(row).ok()) << name << ": " << Load(row);
  }
  EXPECT_THAT(std::string(Load("{\"prompt\": \"ab\", \"target\": \"3\"}\n").message()), HasSubstr("numbers"));
}

TEST_F(PromptSourceTest, NamesTheLineOfWhatIsWrong) {
  const std::string good = "{\"prompt\": \"ab\", \"answer\": \"4\"}\n";
  const struct {
    std::string row, error;
  } cases[] = {
      {"{\"prompt\": \"ab\", ", "prompts.jsonl:2: not valid JSON"},
      {"[1]", "prompts.jsonl:2: a row must be a JSON object"},
      {"{\"answer\": \"4\"}", "prompts.jsonl:2: needs \"prompt\""},
      {"{\"prompt\": 3, \"answer\": \"4\"}", "prompts.jsonl:2: needs \"prompt\""},
      {"{\"prompt\": \"ab\"}", "prompts.jsonl:2: the reward needs the field \"answer\""},
      {"{\"prompt\": \"ab\", \"answer\": \" \"}",
       "prompts.jsonl:2: the reward needs \"answer\", which is empty"},
      {"{\"prompt\": \"ab\", \"answer\": null}",
       "prompts.jsonl:2: the reward needs \"answer\", which is empty"},
      {"{\"prompt\": \"\", \"answer\": \"4\"}", "prompts.jsonl:2: the prompt has no tokens"},
      {"{\"id\": \"line-1\", \"prompt\": \"ab\", \"answer\": \"4\"}",
       "prompts.jsonl:2: id \"line-1\" is used twice"},
      {"{\"prompt\": \"" + std::string(65, 'x') + "\", \"answer\": \"4\"}", "prompts.max_tokens is 64"},
  };
  for (const auto& c : cases) {
    const absl::Status status = Load(good + c.row + "\n");
    EXPECT_EQ(status.code(), absl::StatusCode::kInvalidArgument) << c.row;
    EXPECT_THAT(std::string(status.message()), HasSubstr(c.error));
  }
  EXPECT_THAT(std::string(Load("\n").message()), HasSubstr("has no rows"));
  spec_.prompts.file = folder_.path() + "/absent.jsonl";
  EXPECT_THAT(std::string(LoadPrompts(spec_, encoder_).status().message()),
              HasSubstr("prompts.file: opening"));
}

TEST_F(PromptSourceTest, TakesAnswersInAnySpelling) {
  for (const char* answer :
       {"-3", "1,200.5", "3/4", "\\\\frac{3}{4}", "$72", "50%", "1.5e3", "so #### 5", "\\\\sqrt{x}", "yes"}) {
    const absl::Status status = Load(absl::StrCat("{\"prompt\": \"ab\", \"answer\": \"", answer, "\"}"));
    EXPECT_TRUE(status.ok()) << status;
  }
  spec_.reward.components = {{"form", 1, RegexScorerSpec{"x"}}};
  EXPECT_TRUE(Load("{\"prompt\": \"ab\", \"answer\": \"x\"}").ok());
}

TEST_F(PromptSourceTest, NamesTheFieldWhenNoPromptHasRoomInTheContext) {
  spec_.sampling.params.max_new_tokens = static_cast<int32_t>(encoder_.max_positions());
  const std::string message(Load("{\"prompt\": \"ab\", \"answer\": \"4\"}").message());
  EXPECT_THAT(message, testing::StartsWith("sampling.max_new_tokens: "));
  EXPECT_THAT(message, testing::Not(HasSubstr("prompts.jsonl")));
}

TEST_F(PromptSourceTest, RefusesAPromptThatLeavesNoRoomInTheContext) {
  spec_.sampling.params.max_new_tokens = static_cast<int32_t>(encoder_.max_positions()) - 1;
  EXPECT_THAT(std::string(Load("{\"prompt\": \"ab\", \"answer\": \"4\"}").message()),
              HasSubstr("less sampling.max_new_tokens leaves 1"));
}

TEST_F(PromptSourceTest, ChecksEvaluationAndWarmStartFilesTheSame) {
  spec_.evaluation.file = folder_.Write("held.jsonl", "{\"prompt\": \"ab\"}\n");
  spec_.evaluation.every_steps = 1;
  EXPECT_THAT(std::string(LoadPrompts(spec_, encoder_).status().message()),
              HasSubstr("held.jsonl:1: the reward needs"));
  spec_.evaluation = {};
  spec_.warm_start.file =
      folder_.Write("warm.jsonl", "{\"prompt\": \"ab\", \"completion\": \"c\"}\n{\"prompt\": \"ab\"}\n");
  EXPECT_THAT(std::string(LoadPrompts(spec_, encoder_).status().message()),
              HasSubstr("warm.jsonl:2: needs \"completion\""));
}

TEST_F(PromptSourceTest, ReadsEachEvaluationBehindThoseBefore) {
  const std::string two =
      "{\"prompt\": \"ab\", \"answer\": \"1\"}\n{\"prompt\": \"cd\", \"answer\": \"2\"}\n";
  spec_.evaluation.file = folder_.Write("held.jsonl", two);
  spec_.evaluation.every_steps = 1;
  EvaluationSpec more = spec_.evaluation;
  more.max_prompts = 1;
  spec_.more_evaluations = {more, spec_.evaluation};
  const auto set = LoadPrompts(spec_, encoder_);
  ASSERT_TRUE(set.ok()) << set.status();
  EXPECT_THAT(set->evaluation_sizes, testing::ElementsAre(2, 1, 2));
  ASSERT_EQ(set->evaluation.size(), 5u);
  EXPECT_EQ(set->evaluation[2].text, "ab");
  EXPECT_EQ(set->evaluation[4].text, "cd");
  spec_.more_evaluations[1].sampling.max_new_tokens = static_cast<int32_t>(encoder_.max_positions());
  EXPECT_THAT(std::string(LoadPrompts(spec_, encoder_).status().message()),
              testing::StartsWith("more_evaluations[1].sampling.max_new_tokens: "));
}

TEST_F(PromptSourceTest, CanaryNeedsAsManyPromptsAsItSamples) {
  spec_.evaluation.file = folder_.Write("held.jsonl", "{\"prompt\": \"ab\", \"answer\": \"1\"}\n");
  spec_.evaluation.every_steps = 1;
  spec_.evaluation.canary.prompts = 1;
  EXPECT_TRUE(LoadPrompts(spec_, encoder_).ok());
  spec_.evaluation.canary.prompts = 2;
  const std::string message(LoadPrompts(spec_, encoder_).status().message());
  EXPECT_THAT(message, HasSubstr("evaluation.canary.prompts: is 2, "));
  EXPECT_THAT(message, HasSubstr("held.jsonl has 1 prompts: ask for no more"));
}

TEST_F(PromptSourceTest, AddsTheEndTokenToWarmStartRows) {
  spec_.warm_start.file = folder_.Write("warm.jsonl", "{\"prompt\": \"ab\", \"completion\": \"c\"}\n");
  auto set = LoadPrompts(spec_, encoder_);
  ASSERT_TRUE(set.ok()) << set.status();
  ASSERT_EQ(set->warm_start.size(), 1u);
  EXPECT_EQ(set->warm_start[0].prompt_size, 2);
  EXPECT_EQ(set->warm_start[0].tokens.size(), 4u);
  EXPECT_EQ(set->warm_start[0].tokens.back(), encoder_.eos_token());
}

TEST_F(PromptSourceTest, RendersChats) {
  spec_.prompts.prompt_template = PromptTemplate::kChat;
  spec_.prompts.file =
      folder_.Write("chat.jsonl",
                    "{\"prompt\": \"hi\", \"answer\": \"1\"}\n"
                    "{\"messages\": [{\"role\": \"user\", \"content\": \"yo\"}], \"answer\": \"1\"}\n");
  auto set = LoadPrompts(spec_, encoder_);
  ASSERT_TRUE(set.ok()) << set.status();
  EXPECT_EQ(set->training[0].text, "<user>hi<assistant>");
  EXPECT_EQ(set->training[1].text, "<user>yo<assistant>");
}

TEST(ShuffledOrder, IsAnotherPermutationInEachPass) {
  ShuffledOrder order(3, RandomDomain::kShuffle, 50), again(3, RandomDomain::kShuffle, 50);
  std::vector<size_t> first, second;
  for (uint64_t i = 0; i < 50; ++i) first.push_back(order.At(i));
  for (uint64_t i = 50; i < 100; ++i) second.push_back(order.At(i));
  EXPECT_EQ(std::set<size_t>(first.begin(), first.end()).size(), 50u);
  EXPECT_EQ(std::set<size_t>(second.begin(), second.end()).size(), 50u);
  EXPECT_NE(first, second);
  for (uint64_t i = 0; i < 5000; i += 37) EXPECT_EQ(order.At(i), again.At(i));
  for (uint64_t i = 0; i < 50; ++i) EXPECT_EQ(again.At(i), first[i]);
}

TEST(CheckGroupSizeTest, ForeseesAGroupThatNothingCouldKeep) {
  constexpr int64_t kExpertBytes = 2 * 48 * 8;
  JobSpec spec;
  spec.sampling.group_size = 64;
  spec.sampling.params.max_new_tokens = 16384;
  spec.sampling.params.record_experts = true;
  PromptSet prompts;
  prompts.training.resize(1);
  prompts.training[0].tokens.resize(2048);
  EXPECT_TRUE(CheckGroupSize(spec, prompts, kExpertBytes).ok());
  prompts.training[0].tokens.resize(8192);
  EXPECT_THAT(
      std::string(CheckGroupSize(spec, prompts, kExpertBytes).message()),
      testing::StartsWith("sampling.group_size: a group of 64 completions of 16384 tokens may have "));
  prompts.training[0].tokens.resize(30000);
  EXPECT_THAT(std::string(CheckGroupSize(spec, prompts, kExpertBytes).message()),
              testing::StartsWith("sampling.record_experts: of a prompt of 30000 tokens"));
  spec.sampling.params.record_experts = false;
  EXPECT_TRUE(CheckGroupSize(spec, prompts, kExpertBytes).ok());
}

TEST(CheckGroupSizeTest, ForeseesAnEvaluationThatNothingCouldKeep) {
  JobSpec spec;
  spec.evaluation.samples_per_prompt = 4096;
  EXPECT_TRUE(CheckGroupSize(spec, {}, 0).ok());
  spec.more_evaluations.resize(2);
  spec.more_evaluations[1].samples_per_prompt = 4096;
  spec.more_evaluations[1].sampling.max_new_tokens = 1 << 15;
  EXPECT_THAT(
      std::string(CheckGroupSize(spec, {}, 0).message()),
      testing::StartsWith("more_evaluations[1].samples_per_prompt: 4096 completions of 32768 tokens"));
}

TEST(CheckWarmStartBatchTest, ForeseesABatchThatIsNoMessage) {
  JobSpec spec;
  PromptSet prompts;
  spec.warm_start.batch_size = 65536;
  EXPECT_TRUE(CheckWarmStartBatch(spec, prompts).ok()) << "there is none";
  prompts.warm_start.resize(2);
  prompts.warm_start[0].tokens.resize(100);
  EXPECT_TRUE(CheckWarmStartBatch(spec, prompts).ok());
  prompts.warm_start[1].tokens.resize(1000);
  EXPECT_THAT(std::string(CheckWarmStartBatch(spec, prompts).message()),
              testing::StartsWith("warm_start.batch_size: 65536 rows of up to 1000 tokens may have "));
}

TEST(CheckSamplingTest, NamesTheFieldThatTheModelCannotServe) {
  ModelConfig dense;
  dense.vocab = 264;
  dense.moe_layer = {false, false};
  ModelConfig mixture = dense;
  mixture.moe_layer[1] = true;
  SamplingParams params;
  params.stop_token_ids = {0, 263};
  params.logit_bias = {{263, 1.5f}};
  params.record_experts = true;
  EXPECT_TRUE(CheckSampling(params, mixture).ok());
  EXPECT_THAT(std::string(CheckSampling(params, dense).message()),
              testing::StartsWith("sampling.record_experts: "));
  SamplingParams stops = params, biases = params;
  stops.stop_token_ids = {264};
  EXPECT_EQ(CheckSampling(stops, mixture).message(),
            "sampling.stop_token_ids: token 264 is not in the model's vocabulary of 264");
  biases.logit_bias[99999] = 1;
  EXPECT_THAT(std::string(CheckSampling(biases, mixture).message()),
              testing::StartsWith("sampling.logit_bias: token 99999"));
}

}  // namespace
}  // namespace sluice
