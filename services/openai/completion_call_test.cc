#include "services/openai/completion_call.h"

#include <string>
#include <utility>
#include <vector>

#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace sluice::openai {
namespace {

using ::testing::StartsWith;

TEST(CompletionCall, ReadsEveryField) {
  const auto call = ParseCall(CallKind::kCompletion, R"({
    "model": "job@3", "prompt": ["one", "two"], "max_tokens": 7, "temperature": 0.5, "top_p": 0.9, "top_k": 40,
    "min_p": 0.1, "n": 2, "stop": ["a", "b"], "stop_token_ids": [5], "seed": -3, "logprobs": 4,
    "logit_bias": {"17": -100, "3": 1.5}, "presence_penalty": 0.5, "frequency_penalty": -0.5,
    "repetition_penalty": 1.25, "ignore_eos": true, "min_tokens": 2, "echo": false, "stream": true,
    "stream_options": {"include_usage": true}, "user": "me", "best_of": 2})");
  ASSERT_TRUE(call.ok()) << call.status();
  EXPECT_EQ(call->model, "job@3");
  ASSERT_EQ(call->prompts.size(), 2u);
  EXPECT_EQ(std::get<std::string>(call->prompts[1]), "two");
  SamplingParams expected;
  expected.temperature = 0.5f;
  expected.top_p = 0.9f;
  expected.top_k = 40;
  expected.min_p = 0.1f;
  expected.repetition_penalty = 1.25f;
  expected.presence_penalty = 0.5f;
  expected.frequency_penalty = -0.5f;
  expected.logit_bias = {{3, 1.5f}, {17, -100}};
  expected.max_new_tokens = 7;
  expected.min_new_tokens = 2;
  expected.top_logprobs = 4;
  expected.stop_token_ids = {5};
  expected.stop = {"a", "b"};
  expected.ignore_eos = true;
  EXPECT_EQ(call->sampling, expected);
  EXPECT_EQ(call->n, 2u);
  EXPECT_EQ(call->seed, static_cast<uint64_t>(-3));
  EXPECT_TRUE(call->logprobs && call->stream && call->stream_usage);
  EXPECT_FALSE(call->default_max_tokens);
}

TEST(CompletionCall, TakesPromptsOfTextAndOfTokens) {
  const auto prompts = [](const std::string& prompt) {
    return ParseCall(CallKind::kCompletion, "{\"prompt\": " + prompt + "}")->prompts;
  };
  EXPECT_EQ(std::get<std::string>(prompts("\"x\"").at(0)), "x");
  EXPECT_EQ(std::get<TokenList>(prompts("[1, 2]").at(0)), (TokenList{1, 2}));
  const std::vector<CallPrompt> two = prompts("[[1, 2], [3]]");
  ASSERT_EQ(two.size(), 2u);
  EXPECT_EQ(std::get<TokenList>(two[1]), TokenList{3});
}

TEST(CompletionCall, HasTheDefaultsOfTheApi) {
  const CompletionCall completion = *ParseCall(CallKind::kCompletion, R"({"prompt": "x", "stop": null})");
  EXPECT_EQ(completion.sampling.max_new_tokens, 16);
  EXPECT_TRUE(completion.default_max_tokens);
  EXPECT_EQ(completion.sampling.temperature, 1);
  EXPECT_EQ(completion.n, 1u);
  EXPECT_FALSE(completion.seed.has_value());
  EXPECT_FALSE(completion.logprobs);
  const CompletionCall chat =
      *ParseCall(CallKind::kChat, R"({"messages": [{"role": "user", "content": "x"}]})");
  EXPECT_TRUE(chat.default_max_tokens);
  EXPECT_GT(chat.sampling.max_new_tokens, 100000);
}

TEST(ChatCall, ReadsMessagesWithTextAndParts) {
  const auto call =
      ParseCall(CallKind::kChat, R"({"max_completion_tokens": 9, "max_tokens": 3, "logprobs": true,
    "top_logprobs": 2, "messages": [{"role": "system", "content": "a"},
    {"role": "user", "content": [{"type": "text", "text": "b"}, {"type": "text", "text": "c"}]}]})");
  ASSERT_TRUE(call.ok()) << call.status();
  const auto& messages = std::get<std::vector<ChatMessage>>(call->prompts[0]);
  ASSERT_EQ(messages.size(), 2u);
  EXPECT_EQ(messages[0].role, "system");
  EXPECT_EQ(messages[1].content, "bc");
  EXPECT_EQ(call->sampling.max_new_tokens, 9);
  EXPECT_EQ(call->sampling.top_logprobs, 2);
}

void ExpectRefused(CallKind kind, const std::string& body, const std::string& begin) {
  const absl::Status status = ParseCall(kind, body).status();
  EXPECT_EQ(status.code(), absl::StatusCode::kInvalidArgument) << body;
  EXPECT_THAT(std::string(status.message()), StartsWith(begin)) << body;
}

TEST(CompletionCall, IsRefusedWithTheFieldNamed) {
  const std::vector<std::pair<std::string, std::string>> cases = {
      {R"("temperature": -1)", "temperature:"},
      {R"("temperature": "hot")", "temperature:"},
      {R"("top_p": 0)", "top_p:"},
      {R"("top_k": -2)", "top_k:"},
      {R"("min_p": 2)", "min_p:"},
      {R"("n": 0)", "n:"},
      {R"("n": 1000000)", "n:"},
      {R"("n": 1.5)", "n:"},
      {R"("max_tokens": 0)", "max_tokens:"},
      {R"("max_tokens": 18446744073709551615)", "max_tokens:"},
      {R"("max_completion_tokens": -1)", "max_completion_tokens:"},
      {R"("min_tokens": 17)", "min_tokens:"},
      {R"("stop": 3)", "stop:"},
      {R"("stop": [""])", "stop:"},
      {R"("stop_token_ids": ["a"])", "stop_token_ids:"},
      {R"("stop_token_ids": [18446744073709551615])", "stop_token_ids:"},
      {R"("seed": "x")", "seed:"},
      {R"("logprobs": 21)", "logprobs:"},
      {R"("logit_bias": [1])", "logit_bias:"},
      {R"("logit_bias": {"a": 1})", "logit_bias:"},
      {R"("logit_bias": {"1": 101})", "logit_bias:"},
      {R"("presence_penalty": 1000)", "presence_penalty:"},
      {R"("repetition_penalty": 0)", "repetition_penalty:"},
      {R"("ignore_eos": 1)", "ignore_eos:"},
      {R"("stream": "yes")", "stream:"},
      {R"("stream_options": 3)", "stream_options:"},
      {R"("model": 3)", "model:"},
      {R"("echo": true)", "echo:"},
      {R"("best_of": 4)", "best_of:"},
      {R"("suffix": "x")", "suffix:"},
      {R"("response_format": {"type": "json_object"})", "response_format:"},
  };
  for (const auto& [field, begin] : cases)
    ExpectRefused(CallKind::kCompletion, "{\"prompt\": \"x\", " + field + "}", begin);
  for (const char* prompt : {"null", "3", "[]", "[[]]", "[1, \"a\"]", "[-1]", "[1.5]", "{}", "[null]"})
    ExpectRefused(CallKind::kCompletion, std::string("{\"prompt\": ") + prompt + "}", "prompt:");
}

TEST(ChatCall, IsRefusedWithTheFieldNamed) {
  const std::vector<std::pair<std::string, std::string>> cases = {
      {R"({})", "messages:"},
      {R"({"messages": []})", "messages:"},
      {R"({"messages": ["x"]})", "messages[0]:"},
      {R"({"messages": [{"content": "x"}]})", "messages[0]:"},
      {R"({"messages": [{"role": "user"}]})", "messages[0]:"},
      {R"({"messages": [{"role": "user", "content": [{"type": "image_url"}]}]})", "messages[0]:"},
      {R"({"messages": [{"role": "user", "content": "x"}], "tools": [{}]})", "tools:"},
      {R"({"messages": [{"role": "user", "content": "x"}], "top_logprobs": 2})", "top_logprobs:"},
  };
  for (const auto& [body, begin] : cases) ExpectRefused(CallKind::kChat, body, begin);
}

TEST(CompletionCall, IsRefusedWhenTheBodyIsNoObject) {
  for (const char* body : {"", "{", "[]", "3", "nul", "{\"prompt\": \"\xff\"}"})
    ExpectRefused(CallKind::kCompletion, body, "the body is not");
  ExpectRefused(CallKind::kCompletion, std::string(100000, '['), "the body is nested too deeply");
}

}  // namespace
}  // namespace sluice::openai
