#include "services/openai/endpoint.h"

#include <algorithm>
#include <string>
#include <utility>
#include <vector>

#include "absl/cleanup/cleanup.h"
#include "absl/strings/str_cat.h"
#include "absl/synchronization/mutex.h"
#include "absl/time/clock.h"
#include "core/rl/trajectory_parts.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "nlohmann/json.hpp"
#include "services/openai/byte_tokenizer_for_test.h"

namespace sluice::openai {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using Json = nlohmann::json;

// Says "abc...", as many letters as are asked for, and after `fail_after` of them `failure`.
class AlphabetWorker final : public RolloutWorker {
 public:
  absl::Status LoadPolicy(const PolicyRef&, SwapMode, absl::Time) override { return absl::OkStatus(); }
  absl::StatusOr<RolloutWorkerState> GetState() override { return RolloutWorkerState(); }
  absl::Status Generate(const RolloutRequest& request, const CancelToken& cancel,
                        const std::function<void(Trajectory)>& on_trajectory) override {
    {
      absl::MutexLock lock(&mu);
      requests.push_back(request);
      most_at_once = std::max(most_at_once, ++running);
    }
    const absl::Cleanup ended = [this] {
      absl::MutexLock lock(&mu);
      --running;
    };
    if (slow) absl::SleepFor(absl::Milliseconds(1));
    Trajectory t;
    for (const uint32_t index : request.indices) {
      t = Trajectory();
      t.key = {request.draw, index};
      for (int32_t i = 0; i < request.sampling.max_new_tokens; ++i) {
        if (cancel.cancelled()) {
          cancelled = true;
          return absl::CancelledError("cancelled");
        }
        if (i == fail_after) return failure;
        t.tokens.push_back('a' + i);
        t.raw_logprobs.push_back(-1);
        t.processed_logprobs.push_back(-1);
        t.text.push_back(static_cast<char>('a' + i));
        t.spans = {{0, i + 1, 7, "h", "cpu"}};
        if (request.progress_every_tokens == 0) continue;
        Trajectory part =
            request.progress_in_parts && !wholes ? PartOf(t, static_cast<size_t>(i), t.tokens.size()) : t;
        // The text of every other token is only certain with the next one.
        if (!wholes) part.text = i % 2 == 1 ? t.text.substr(static_cast<size_t>(i) - 1) : "";
        on_trajectory(part);
      }
      t.finish_reason = FinishReason::kLength;
      on_trajectory(t);
    }
    return absl::OkStatus();
  }
  absl::Status Control(RolloutCommand, absl::Time) override { return absl::OkStatus(); }
  std::vector<RolloutRequest> requests;
  int32_t fail_after = -1;
  absl::Status failure;
  bool cancelled = false;
  bool wholes = true;  // reports of progress have all there is
  bool slow = false;
  absl::Mutex mu;
  int running = 0, most_at_once = 0;
};

// Keeps what was sent; the client leaves after `events_until_gone` events.
class KeptReply final : public HttpReply {
 public:
  void Send(int status, absl::string_view json, absl::string_view headers) override {
    ++sent;
    http_status = status;
    body = std::string(json);
    extra = std::string(headers);
  }
  bool SendEvent(absl::string_view data) override {
    events.emplace_back(data);
    return static_cast<int>(events.size()) != events_until_gone;
  }
  Json json() const { return Json::parse(body); }
  int sent = 0, http_status = 0, events_until_gone = -1;
  std::string body, extra;
  std::vector<std::string> events;
};

class EndpointTest : public ::testing::Test {
 protected:
  EndpointTest() : endpoint_(worker_, [this] { return model_; }) {
    ServedModel model;
    model.job = "job";
    model.version = 7;
    model.context = 20;
    model.tokenizer = ByteTokenizer();
    model_ = model;
  }
  KeptReply& Post(const std::string& path, const std::string& body) {
    endpoint_.Handle({"POST", path, "application/json; charset=utf-8", body}, gone_, reply_);
    return reply_;
  }
  void ExpectError(int status, const std::string& text) {
    EXPECT_EQ(reply_.sent, 1);
    EXPECT_EQ(reply_.http_status, status);
    EXPECT_THAT(reply_.json()["error"]["message"].get<std::string>(), HasSubstr(text));
    reply_ = KeptReply();
  }

  AlphabetWorker worker_;
  absl::StatusOr<ServedModel> model_ = absl::UnavailableError("");
  Endpoint endpoint_;
  CancelToken gone_;
  KeptReply reply_;
};

TEST_F(EndpointTest, CompletesTextWithUsageAndTheVersionThatSampled) {
  const Json json = Post("/v1/completions", R"({"prompt": "xy", "max_tokens": 3, "seed": 5})").json();
  EXPECT_EQ(reply_.http_status, 200);
  EXPECT_EQ(json["model"], "job@7");
  EXPECT_EQ(json["choices"][0]["text"], "abc");
  EXPECT_EQ(json["choices"][0]["finish_reason"], "length");
  EXPECT_EQ(json["usage"]["prompt_tokens"], 2);
  EXPECT_EQ(json["usage"]["completion_tokens"], 3);
  ASSERT_EQ(worker_.requests.size(), 1u);
  EXPECT_EQ(worker_.requests[0].seed, 5u);
  EXPECT_EQ(worker_.requests[0].job, "job");
  EXPECT_EQ(worker_.requests[0].domain, RandomDomain::kEvaluation);
  EXPECT_EQ(worker_.requests[0].progress_every_tokens, 0);
}

TEST_F(EndpointTest, NumbersTheChoicesOfSeveralPrompts) {
  const Json json = Post("/v1/completions", R"({"prompt": [[1], [2, 3]], "max_tokens": 1, "n": 2})").json();
  ASSERT_EQ(json["choices"].size(), 4u);
  for (int i = 0; i < 4; ++i) EXPECT_EQ(json["choices"][i]["index"], i);
  EXPECT_EQ(json["usage"]["prompt_tokens"], 3);
  EXPECT_EQ(json["usage"]["completion_tokens"], 4);
}

TEST_F(EndpointTest, StreamsWhatIsNewAndEndsWithDone) {
  Post("/v1/completions",
       R"({"prompt": "x", "max_tokens": 3, "stream": true, "stream_options": {"include_usage": true}})");
  ASSERT_GE(reply_.events.size(), 5u);
  EXPECT_EQ(reply_.sent, 0);
  EXPECT_EQ(reply_.events.back(), "[DONE]");
  std::string text;
  for (size_t i = 0; i + 2 < reply_.events.size(); ++i)
    text += Json::parse(reply_.events[i])["choices"][0]["text"].get<std::string>();
  EXPECT_EQ(text, "abc");
  const Json usage = Json::parse(reply_.events[reply_.events.size() - 2]);
  EXPECT_EQ(usage["usage"]["total_tokens"], 4);
  EXPECT_EQ(Json::parse(reply_.events[reply_.events.size() - 3])["choices"][0]["finish_reason"], "length");
}

TEST_F(EndpointTest, StreamsEachTokenOnceWhereTheWorkerReportsParts) {
  for (const bool wholes : {true, false}) {
    worker_.wholes = wholes;
    reply_ = KeptReply();
    Post("/v1/completions", R"({"prompt": "x", "max_tokens": 7, "stream": true, "logprobs": 0})");
    ASSERT_GE(reply_.events.size(), 3u);
    EXPECT_EQ(reply_.events.back(), "[DONE]");
    std::string text, tokens;
    std::vector<int> offsets;
    for (size_t i = 0; i + 1 < reply_.events.size(); ++i) {
      const Json choice = Json::parse(reply_.events[i])["choices"][0];
      text += choice["text"].get<std::string>();
      for (const Json& token : choice["logprobs"]["tokens"]) tokens += token.get<std::string>();
      for (const Json& offset : choice["logprobs"]["text_offset"]) offsets.push_back(offset);
    }
    EXPECT_EQ(text, "abcdefg") << wholes;
    EXPECT_EQ(tokens, "abcdefg") << wholes;
    EXPECT_EQ(offsets.size(), 7u);
    EXPECT_TRUE(worker_.requests.back().progress_in_parts);
  }
}

TEST_F(EndpointTest, ManyPromptsTakeAFewThreads) {
  Endpoint few(worker_, [this] { return model_; }, {.max_helper_threads = 3});
  worker_.slow = true;
  std::string prompts;
  for (int i = 0; i < 64; ++i) absl::StrAppend(&prompts, i == 0 ? "" : ", ", "[", i + 1, "]");
  few.Handle({"POST", "/v1/completions", "application/json",
              absl::StrCat(R"({"max_tokens": 1, "prompt": [)", prompts, "]}")},
             gone_, reply_);
  EXPECT_EQ(reply_.http_status, 200);
  EXPECT_EQ(reply_.json()["choices"].size(), 64u);
  EXPECT_EQ(worker_.requests.size(), 64u);
  EXPECT_LE(worker_.most_at_once, 4);
  EXPECT_GT(worker_.most_at_once, 1);
}

TEST_F(EndpointTest, HoldsTheVersionThatWasNamedAndNoOther) {
  for (const char* model : {"", "job", "job@7"})
    Post("/v1/completions", absl::StrCat(R"({"prompt": [[1], [2]], "model": ")", model, "\"}"));
  ASSERT_EQ(worker_.requests.size(), 6u);
  for (size_t i = 0; i < 6; ++i)
    EXPECT_EQ(worker_.requests[i].only_version, i < 4 ? kNoPolicyVersion : 7) << i;
  worker_.fail_after = 0;
  worker_.failure = absl::FailedPreconditionError("version 7 of job \"job\" is not served; version 8 is");
  reply_ = KeptReply();
  Post("/v1/completions", R"({"prompt": "x", "model": "job@7"})");
  ExpectError(503, "version 8 is");
}

TEST_F(EndpointTest, StopsTheWorkerWhenTheClientOfAStreamIsGone) {
  reply_.events_until_gone = 2;
  Post("/v1/completions", R"({"prompt": "x", "max_tokens": 9, "stream": true})");
  EXPECT_TRUE(worker_.cancelled);
}

TEST_F(EndpointTest, FillsTheContextWhenAChatSaysNoLength) {
  model_->chat = *ChatTemplate::Parse("{% for m in messages %}{{ m.content }}{% endfor %}", "", "");
  const Json json =
      Post("/v1/chat/completions", R"({"messages": [{"role": "user", "content": "12345"}]})").json();
  EXPECT_EQ(reply_.http_status, 200);
  EXPECT_EQ(json["choices"][0]["message"]["content"].get<std::string>().size(), 15u);
}

TEST_F(EndpointTest, TellsTheWorkersErrorsInTheTermsOfTheApi) {
  const std::string body = R"({"prompt": "x", "max_tokens": 3})";
  const std::vector<std::pair<absl::Status, int>> cases = {
      {absl::InvalidArgumentError("sampling.max_new_tokens is bad"), 400},
      {absl::ResourceExhaustedError("the queue is full"), 429},
      {absl::UnavailableError("draining"), 503},
      {absl::DeadlineExceededError("too late"), 504},
      {absl::InternalError("broken"), 500},
  };
  worker_.fail_after = 0;
  for (const auto& [failure, status] : cases) {
    worker_.failure = failure;
    Post("/v1/completions", body);
    EXPECT_EQ(reply_.extra, status == 429 ? "Retry-After: 1\r\n" : "");
    ExpectError(status, status == 400 ? "max_tokens is bad" : failure.message().data());
  }
}

TEST_F(EndpointTest, EndsAStreamWithTheErrorThatStoppedIt) {
  worker_.fail_after = 2;
  worker_.failure = absl::DeadlineExceededError("too late");
  Post("/v1/completions", R"({"prompt": "x", "max_tokens": 3, "stream": true})");
  EXPECT_EQ(reply_.sent, 0);
  EXPECT_EQ(Json::parse(reply_.events.back())["error"]["message"], "too late");
}

TEST_F(EndpointTest, RefusesWhatDoesNotFitTheModel) {
  Post("/v1/completions", R"({"prompt": "x", "max_tokens": 20})");
  ExpectError(400, "max_tokens: is 20");
  Post("/v1/completions", R"({"prompt": "01234567890123456789"})");
  ExpectError(400, "prompt: has 20 tokens");
  Post("/v1/completions", R"({"prompt": ""})");
  ExpectError(400, "prompt: has no tokens");
  Post("/v1/completions", R"({"prompt": "x", "model": "job@6"})");
  ExpectError(404, "\"job@7\" is");
  Post("/v1/chat/completions", R"({"messages": [{"role": "user", "content": "x"}]})");
  ExpectError(400, "no chat template");
  model_->tokenizer = nullptr;
  Post("/v1/completions", R"({"prompt": "x"})");
  ExpectError(400, "no tokenizer.json");
  EXPECT_TRUE(worker_.requests.empty());
}

TEST_F(EndpointTest, NamesTheModelByJobAndByVersion) {
  for (const char* model : {"", "job", "job@7"}) {
    Post("/v1/completions", absl::StrCat(R"({"prompt": "x", "model": ")", model, "\"}"));
    EXPECT_EQ(reply_.http_status, 200) << model;
  }
  endpoint_.Handle({"GET", "/v1/models", "", ""}, gone_, reply_);
  EXPECT_EQ(reply_.json()["data"][0]["id"], "job");
  EXPECT_EQ(reply_.json()["data"][1]["id"], "job@7");
  endpoint_.Handle({"GET", "/v1/models/job@7", "", ""}, gone_, reply_);
  EXPECT_EQ(reply_.json()["id"], "job@7");
}

TEST_F(EndpointTest, RefusesOtherPathsMethodsAndTypes) {
  endpoint_.Handle({"GET", "/v2", "", ""}, gone_, reply_);
  ExpectError(404, "there is no /v2");
  endpoint_.Handle({"GET", "/v1/completions", "", ""}, gone_, reply_);
  EXPECT_EQ(reply_.extra, "Allow: POST\r\n");
  ExpectError(405, "takes POST");
  endpoint_.Handle({"POST", "/health", "application/json", "{}"}, gone_, reply_);
  ExpectError(405, "takes GET");
  endpoint_.Handle({"POST", "/v1/completions", "text/plain", "{}"}, gone_, reply_);
  ExpectError(415, "application/json");
}

TEST_F(EndpointTest, IsUnhealthyBeforeAPolicyIsServed) {
  model_ = absl::UnavailableError("no policy is served yet");
  endpoint_.Handle({"GET", "/health", "", ""}, gone_, reply_);
  ExpectError(503, "no policy");
}

}  // namespace
}  // namespace sluice::openai
