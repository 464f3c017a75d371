#include "services/rollout/build.h"

#include <utility>
#include <vector>

#include "CLI/CLI.hpp"
#include "core/base/log.h"
#include "core/base/status.h"
#include "rollout/engine.h"
#include "services/clients/remote_weight_channel.h"
#include "services/clients/work_adapter.h"
#include "services/openai/endpoint.h"
#include "services/openai/http_server.h"
#include "services/rollout/device.h"
#include "services/servers/rollout_adapter.h"
#include "services/servers/weight_adapter.h"

namespace sluice {
namespace {

absl::StatusOr<std::unique_ptr<WeightChannel>> OpenChannel(const std::string& source) {
  SLUICE_ASSIGN_OR_RETURN(Peer peer, Connect(source));
  return std::make_unique<RemoteWeightChannel>(std::move(peer));
}

class RolloutRole final : public HostedRole {
 public:
  RolloutRole(std::unique_ptr<Engine> engine, std::shared_ptr<PolicyCache> policies, int max_groups,
              Host& host)
      : engine_(std::move(engine)),
        policies_(std::move(policies)),
        max_groups_(max_groups),
        endpoint_(*engine_, [this] { return Served(); }),
        adapter_(*engine_, host.executor(),
                 [this](const JobId& job, absl::Span<const int32_t> tokens, absl::Time deadline,
                        const CancelToken& cancel) { return Score(job, tokens, deadline, cancel); }) {
    if (policies_ == nullptr) return;
    weight_adapter_ = std::make_unique<WeightAdapter>(policies_->channel(), host.executor());
  }
  std::vector<grpc::Service*> Services() override {
    if (weight_adapter_ == nullptr) return {&adapter_};
    return {&adapter_, weight_adapter_.get()};
  }
  std::unique_ptr<Membership> JoinFleet(Host& host, ConnectCoordinator connect) override {
    v1::RegisterWorkerRequest registration;
    registration.set_name(host.name());
    registration.set_role(v1::ROLLOUT);
    registration.set_address(host.advertised());
    return std::make_unique<WorkAdapter>(*engine_, std::move(connect), std::move(registration), max_groups_);
  }
  void OnStopping(StopControl& stop) override {
    stop.WaitingFor("the HTTP server to end its calls");
    if (http_ != nullptr) http_->Stop();
    stop.WaitingFor("the engine to hand back the completions under way");
    engine_->Shutdown();
  }

  // Serves the OpenAI API.
  absl::Status StartHttp(int port, Host& host) {
    openai::HttpOptions options;
    options.address = absl::StrCat("127.0.0.1:", port);
    SLUICE_ASSIGN_OR_RETURN(
        http_, openai::HttpServer::Start(
                   options, [this](const openai::HttpRequest& request, const CancelToken& gone,
                                   openai::HttpReply& reply) { endpoint_.Handle(request, gone, reply); }));
    host.AddAddress("http", http_->address());
    LogInfo("serving_http", {{"http", http_->address()}});
    return absl::OkStatus();
  }

 private:
  absl::StatusOr<ScoredTokens> Score(const JobId& job, absl::Span<const int32_t> tokens, absl::Time deadline,
                                     const CancelToken& cancel) {
    SLUICE_ASSIGN_OR_RETURN(TokenScores scores,
                            engine_->ScoreTokens(job, {tokens.begin(), tokens.end()}, deadline, cancel));
    return ScoredTokens{std::move(scores.logprobs), scores.version};
  }

  absl::StatusOr<openai::ServedModel> Served() const {
    const PolicyHandle policy = engine_->policy();
    if (policy == nullptr) return absl::UnavailableError("no policy is served yet");
    return openai::ServedModel{policy->job, policy->version, policy->config.max_positions, policy->tokenizer,
                               policy->chat};
  }

  std::unique_ptr<Engine> engine_;
  std::shared_ptr<PolicyCache> policies_;  // the engine's; null: none
  const int max_groups_;
  openai::Endpoint endpoint_;
  RolloutAdapter adapter_;
  std::unique_ptr<WeightAdapter> weight_adapter_;  // of the cache; null: none
  std::unique_ptr<openai::HttpServer> http_;       // null: not served
};

absl::Status CheckFlags(const RolloutFlags& flags, const Host& host) {
  if (!flags.model.empty() && !host.options().coordinator.empty()) {
    return absl::InvalidArgumentError(
        "--model serves one model privately and cannot be used with --coordinator");
  }
  return absl::OkStatus();
}

}  // namespace

void RolloutFlags::Add(CLI::App& app) {
  app.add_option("--threads", threads, "Threads that compute")
      ->check(CLI::Range(1, 1024))
      ->capture_default_str();
  app.add_option("--cache-bytes", cache_bytes, "Memory for the latent cache")
      ->check(CLI::Range(int64_t{1} << 20, int64_t{1} << 42))
      ->capture_default_str();
  app.add_option("--max-running", max_running, "Sequences computed at once")
      ->check(CLI::Range(1, 1 << 16))
      ->capture_default_str();
  app.add_option("--max-queue", max_queue, "Sequences that may wait")
      ->check(CLI::Range(1, 1 << 20))
      ->capture_default_str();
  app.add_option("--max-groups", max_groups, "In a fleet: groups taken at once")
      ->check(CLI::Range(1, 4096))
      ->capture_default_str();
  app.add_option("--device", device, "cpu, or cuda in a build of the preset \"cuda\"")
      ->check(CLI::IsMember({"cpu", "cuda"}))
      ->capture_default_str();
  app.add_option("--model", model,
                 "Serve this Hugging Face directory privately, as version 0 of the job \"local\"");
  app.add_option("--dtype", dtype, "With --model: what its tensors are rounded to, bf16 or fp32")
      ->check(CLI::IsMember({"bf16", "fp32"}))
      ->capture_default_str();
  app.add_flag(
      "--keep-policies,!--no-keep-policies", keep_policies,
      "Keep the last two policies fetched in the state folder (default), where it is given: then a new one "
      "travels as what changed, and other workers can fetch it here");
  app.add_option("--http-port", http_port,
                 "Serve the OpenAI API on this port of 127.0.0.1 too; 0: any free one, -1: do not")
      ->check(CLI::Range(-1, 65535))
      ->capture_default_str();
}

absl::StatusOr<std::unique_ptr<HostedRole>> BuildRollout(const RolloutFlags& flags, Host& host) {
  SLUICE_RETURN_IF_ERROR(CheckFlags(flags, host));
  EngineOptions options;
  options.name = host.name();
  options.threads = flags.threads;
  options.cache_bytes = flags.cache_bytes;
  options.max_running_sequences = flags.max_running;
  options.max_queued_sequences = flags.max_queue;
  options.open_channel = OpenChannel;
  if (flags.keep_policies && flags.model.empty() && !host.options().state_dir.empty()) {
    SLUICE_ASSIGN_OR_RETURN(options.policy_cache,
                            PolicyCache::Open(absl::StrCat(host.options().state_dir, "/policies")));
  }
  const std::shared_ptr<PolicyCache> policies =
      options.policy_cache;  // shared with the service that gives them on
  SLUICE_ASSIGN_OR_RETURN(options.backend, OpenDevice(flags.device));
  SLUICE_ASSIGN_OR_RETURN(std::unique_ptr<Engine> engine,
                          Engine::Create(std::move(options), host.registry()));
  if (!flags.model.empty()) {
    DType dtype = flags.dtype == "fp32" ? DType::kF32 : DType::kBF16;
    absl::Status loaded = engine->LoadDirectory(flags.model, dtype);
    // Whatever is wrong with the directory: the caller named it.
    if (!loaded.ok())
      return absl::InvalidArgumentError(absl::StrCat("--model ", flags.model, ": ", loaded.message()));
    LogInfo("model_loaded", {{"model", flags.model}, {"dtype", flags.dtype}});
  }
  auto role = std::make_unique<RolloutRole>(std::move(engine), policies, flags.max_groups, host);
  if (flags.http_port >= 0) {
    SLUICE_RETURN_IF_ERROR(Annotate(role->StartHttp(flags.http_port, host), "--http-port"));
  }
  return role;
}

}  // namespace sluice
