// The OpenAI API over a RolloutWorker, so that existing tools can look at a policy, also while it is trained:
//   GET /health, GET /v1/models, GET /v1/models/ID, POST /v1/completions, POST /v1/chat/completions
// A model is named JOB (whatever version is served) or JOB@VERSION: that one samples the whole answer, or the
// call fails (503) when another is served before all of its prompts have started. Thread-safe.
#pragma once

#include <atomic>
#include <functional>
#include <memory>
#include <string>

#include "absl/status/statusor.h"
#include "absl/time/time.h"
#include "core/base/cancellation.h"
#include "core/rl/rollout_worker.h"
#include "core/spec/template/chat_template.h"
#include "core/spec/tokenizer/tokenizer.h"
#include "services/openai/completion_call.h"
#include "services/openai/completion_json.h"
#include "services/openai/http_reply.h"

namespace sluice::openai {

// What the worker serves at a moment.
struct ServedModel {
  JobId job;
  PolicyVersion version = kNoPolicyVersion;
  int64_t context = 0;                         // tokens
  std::shared_ptr<const Tokenizer> tokenizer;  // shared with the engine; null: prompts must be token ids
  std::shared_ptr<const ChatTemplate> chat;    // shared with the engine; null: no chat
  std::string Name() const;                    // JOB@VERSION
};

struct EndpointOptions {
  absl::Duration call_limit = absl::Minutes(10);
  // Of all calls together, that sample further prompts of a call beside its own thread.
  int max_helper_threads = 64;
};

class Endpoint {
 public:
  // UNAVAILABLE: nothing is served yet.
  using ModelSource = std::function<absl::StatusOr<ServedModel>()>;
  // `worker` is borrowed.
  Endpoint(RolloutWorker& worker, ModelSource model, const EndpointOptions& options = {})
      : worker_(worker), model_(std::move(model)), options_(options) {}

  // Answers one request; returns when it is answered or `gone` was raised.
  void Handle(const HttpRequest& request, const CancelToken& gone, HttpReply& reply);

 private:
  absl::Status Get(const std::string& path, HttpReply& reply) const;
  absl::Status Complete(CallKind kind, const HttpRequest& request, const CancelToken& gone, HttpReply& reply);

  RolloutWorker& worker_;
  const ModelSource model_;
  const EndpointOptions options_;
  std::atomic<uint64_t> next_call_{0};
  std::atomic<int> helper_threads_{0};
};

}  // namespace sluice::openai
