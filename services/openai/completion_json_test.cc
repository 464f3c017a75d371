#include "services/openai/completion_json.h"

#include "gtest/gtest.h"
#include "nlohmann/json.hpp"
#include "services/openai/byte_tokenizer_for_test.h"

namespace sluice::openai {
namespace {

using Json = nlohmann::json;

Trajectory SomeTrajectory() {
  Trajectory out;
  out.tokens = {'b', 'c'};
  out.raw_logprobs = {-0.5f, -1};
  out.processed_logprobs = {0, 0};
  out.alternatives = {{'d', -0.25f}, {0xE2, -2}};
  out.text = "bc";
  out.finish_reason = FinishReason::kStop;
  return out;
}

AnswerHead Head(CallKind kind, const Tokenizer& tokenizer) {
  AnswerHead head;
  head.kind = kind;
  head.id = "id-1";
  head.model = "job@4";
  head.created = absl::FromUnixSeconds(1234);
  head.logprobs = true;
  head.tokenizer = &tokenizer;
  return head;
}

TEST(AnswerJson, HasTheFormOfACompletion) {
  const auto bytes = ByteTokenizer();
  const Json json =
      Json::parse(AnswerJson(Head(CallKind::kCompletion, *bytes), {{0, SomeTrajectory()}}, {5, 2}));
  EXPECT_EQ(json,
            Json::parse(R"({"id": "id-1", "object": "text_completion", "created": 1234, "model": "job@4",
    "choices": [{"index": 0, "text": "bc", "finish_reason": "stop", "logprobs": {"tokens": ["b", "c"],
      "token_logprobs": [-0.5, -1.0], "top_logprobs": [{"d": -0.25}, {"\uFFFD": -2.0}], "text_offset": [0, 1]}}],
    "usage": {"prompt_tokens": 5, "completion_tokens": 2, "total_tokens": 7}})"));
}

TEST(AnswerJson, HasTheFormOfAChat) {
  const auto bytes = ByteTokenizer();
  AnswerHead head = Head(CallKind::kChat, *bytes);
  const Json json = Json::parse(AnswerJson(head, {{0, SomeTrajectory()}, {1, SomeTrajectory()}}, {5, 4}));
  EXPECT_EQ(json["object"], "chat.completion");
  EXPECT_EQ(json["choices"].size(), 2u);
  EXPECT_EQ(json["choices"][1]["message"], Json::parse(R"({"role": "assistant", "content": "bc"})"));
  EXPECT_EQ(json["choices"][0]["logprobs"]["content"][1],
            Json::parse(R"({"token": "c", "logprob": -1.0, "bytes": [99],
                            "top_logprobs": [{"token": "\uFFFD", "logprob": -2.0, "bytes": [226]}]})"));
  head.logprobs = false;
  EXPECT_TRUE(Json::parse(AnswerJson(head, {{0, SomeTrajectory()}}, {}))["choices"][0]["logprobs"].is_null());
}

TEST(DeltaJson, SaysOnlyWhatIsNew) {
  const auto bytes = ByteTokenizer();
  const AnswerHead head = Head(CallKind::kChat, *bytes);
  Trajectory begun = SomeTrajectory();
  begun.finish_reason = FinishReason::kUnspecified;
  ChoiceDelta delta;
  delta.first = true;
  delta.text = "b";
  Json choice = Json::parse(DeltaJson(head, delta, begun))["choices"][0];
  EXPECT_EQ(choice["delta"], Json::parse(R"({"role": "assistant", "content": "b"})"));
  EXPECT_TRUE(choice["finish_reason"].is_null());
  delta = {0, false, "", 1, 1};
  const Json last = Json::parse(DeltaJson(head, delta, SomeTrajectory()));
  EXPECT_EQ(last["object"], "chat.completion.chunk");
  EXPECT_EQ(last["choices"][0]["delta"], Json::object());
  EXPECT_EQ(last["choices"][0]["logprobs"]["content"].size(), 1u);
  EXPECT_EQ(last["choices"][0]["finish_reason"], "stop");
  const AnswerHead completion = Head(CallKind::kCompletion, *bytes);
  choice = Json::parse(DeltaJson(completion, {0, false, "c", 1, 1}, SomeTrajectory()))["choices"][0];
  EXPECT_EQ(choice["text"], "c");
  EXPECT_EQ(choice["logprobs"]["text_offset"], Json({1}));
  EXPECT_EQ(Json::parse(UsageJson(head, {3, 4}))["usage"]["total_tokens"], 7);
}

TEST(ErrorJson, NamesTheFieldAndTheKindOfError) {
  const auto error = [](const absl::Status& status) { return Json::parse(ErrorJson(status))["error"]; };
  EXPECT_EQ(error(absl::InvalidArgumentError("top_p: must be above 0")),
            Json::parse(R"({"message": "top_p: must be above 0", "type": "invalid_request_error",
                            "param": "top_p", "code": null})"));
  EXPECT_TRUE(error(absl::InvalidArgumentError("the body is not JSON"))["param"].is_null());
  EXPECT_EQ(error(absl::NotFoundError("m"))["code"], "model_not_found");
  EXPECT_EQ(error(absl::ResourceExhaustedError("full"))["type"], "rate_limit_error");
  EXPECT_EQ(error(absl::InternalError("\xff"))["type"], "server_error");
}

TEST(HttpStatusOf, SaysWhatTheCallerShouldDo) {
  EXPECT_EQ(HttpStatusOf(absl::InvalidArgumentError("")), 400);
  EXPECT_EQ(HttpStatusOf(absl::NotFoundError("")), 404);
  EXPECT_EQ(HttpStatusOf(absl::ResourceExhaustedError("")), 429);
  EXPECT_EQ(HttpStatusOf(absl::UnavailableError("")), 503);
  EXPECT_EQ(HttpStatusOf(absl::FailedPreconditionError("")), 503);
  EXPECT_EQ(HttpStatusOf(absl::DeadlineExceededError("")), 504);
  EXPECT_EQ(HttpStatusOf(absl::InternalError("")), 500);
}

}  // namespace
}  // namespace sluice::openai
