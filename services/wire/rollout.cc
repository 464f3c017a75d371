#include "services/wire/rollout.h"

#include <algorithm>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "core/base/status.h"
#include "core/rl/trajectory_parts.h"
#include "services/wire/field_check.h"
#include "services/wire/types.h"

namespace sluice {
namespace {

constexpr size_t kMaxResponseBytes = 60 << 20;  // below what the transport takes

absl::StatusOr<RandomDomain> DomainFromProto(v1::RandomDomain proto) {
  switch (proto) {
    case v1::RANDOM_DOMAIN_UNSPECIFIED:
    case v1::TRAINING:
      return RandomDomain::kTraining;
    case v1::EVALUATION:
      return RandomDomain::kEvaluation;
    default:
      return absl::InvalidArgumentError(absl::StrCat("domain: unknown value ", static_cast<int>(proto)));
  }
}

void CheckIndices(const google::protobuf::RepeatedField<uint32_t>& indices, FieldCheck& check) {
  check.Require(!indices.empty(), "indices", "at least one is needed");
  check.AtMost(indices.size(), kMaxGroupMembers, "indices", "members");
  std::set<uint32_t> seen;
  for (uint32_t index : indices) {
    check.Require(index < kMaxGroupMembers, "indices", absl::StrCat("must be below ", kMaxGroupMembers));
    check.Require(seen.insert(index).second, "indices", absl::StrCat(index, " is there twice"));
    if (!check.status().ok()) return;
  }
}

// A begun completion is one of the request's, is not finished, and has what the request's sampling reports.
absl::Status CheckBegun(const Trajectory& begun, const RolloutRequest& request) {
  FieldCheck check;
  const std::vector<uint32_t>& indices = request.indices;
  check.Require(begun.key.draw == request.draw, "key.draw", "is not the request's draw");
  check.Require(std::find(indices.begin(), indices.end(), begun.key.index) != indices.end(), "key.index",
                absl::StrCat(begun.key.index, " is not one of indices"));
  check.Require(
      begun.tokens.size() <= static_cast<size_t>(request.sampling.max_new_tokens), "tokens",
      absl::StrCat("has ", begun.tokens.size(), ", max_new_tokens is ", request.sampling.max_new_tokens));
  check.Require(
      begun.alternatives.size() == begun.tokens.size() * static_cast<size_t>(request.sampling.top_logprobs),
      "alternative_tokens", "must be sampling.top_logprobs for each token");
  const size_t layers = static_cast<size_t>(begun.experts.moe_layers) * begun.experts.per_token;
  const size_t fed = begun.tokens.empty() ? 0 : request.prompt_tokens.size() + begun.tokens.size() - 1;
  check.Require(begun.experts.ids.size() == (request.sampling.record_experts ? fed * layers : 0) &&
                    (fed == 0 || layers > 0 || !request.sampling.record_experts),
                "experts", "must be those of all tokens fed so far when sampling.record_experts, else none");
  return check.status();
}

absl::Status ReadBegun(const v1::GenerateRequest& proto, RolloutRequest& request) {
  std::set<uint32_t> seen;
  std::vector<std::string> places;  // of the first part of each
  for (int i = 0; i < proto.begun_size(); ++i) {
    const std::string field = absl::StrCat("begun[", i, "]");
    absl::StatusOr<Trajectory> begun = PartFromProto(proto.begun(i));
    if (!begun.ok()) return Within(field, begun.status());
    if (FirstToken(*begun) > 0) {
      const bool goes_on = !request.begun.empty() && EndToken(request.begun.back()) == FirstToken(*begun);
      const absl::Status added = goes_on ? Append(*std::move(begun), request.begun.back())
                                         : absl::InvalidArgumentError("does not go on from the one before");
      if (!added.ok()) return absl::InvalidArgumentError(absl::StrCat(field, ".spans: ", added.message()));
      continue;
    }
    if (!seen.insert(begun->key.index).second) {
      return absl::InvalidArgumentError(
          absl::StrCat(field, ".key.index: ", begun->key.index, " is there twice"));
    }
    places.push_back(field);
    request.begun.push_back(*std::move(begun));
  }
  for (size_t i = 0; i < request.begun.size(); ++i) {
    SLUICE_RETURN_IF_ERROR(Within(places[i], CheckBegun(request.begun[i], request)));
  }
  return absl::OkStatus();
}

}  // namespace

v1::GenerateRequest ToProto(const RolloutRequest& request) {
  v1::GenerateRequest out = ToProtoWithoutBegun(request);
  for (const Trajectory& begun : request.begun) *out.add_begun() = ToProto(begun);
  return out;
}

v1::GenerateRequest ToProtoWithoutBegun(const RolloutRequest& request) {
  v1::GenerateRequest out;
  out.set_job(request.job);
  out.set_domain(request.domain == RandomDomain::kEvaluation ? v1::EVALUATION : v1::TRAINING);
  out.set_seed(request.seed);
  out.set_draw(request.draw);
  out.mutable_indices()->Add(request.indices.begin(), request.indices.end());
  out.set_attempt(request.attempt);
  out.mutable_prompt_tokens()->Add(request.prompt_tokens.begin(), request.prompt_tokens.end());
  *out.mutable_sampling() = ToProto(request.sampling);
  out.set_progress_every_tokens(request.progress_every_tokens);
  out.set_progress_in_parts(request.progress_in_parts);
  if (request.only_version != kNoPolicyVersion) out.set_only_policy_version(request.only_version);
  return out;
}

absl::StatusOr<RolloutRequest> FromProto(const v1::GenerateRequest& proto) {
  FieldCheck check;
  check.Name(proto.job(), "job");
  CheckIndices(proto.indices(), check);
  check.Require(!proto.prompt_tokens().empty(), "prompt_tokens", "at least one is needed");
  check.TokenIds(proto.prompt_tokens(), kMaxTokens, "prompt_tokens");
  check.Require(proto.has_sampling(), "sampling", "is missing");
  check.NotNegative(proto.progress_every_tokens(), "progress_every_tokens");
  check.NotNegative(proto.only_policy_version(), "only_policy_version");
  SLUICE_RETURN_IF_ERROR(check.status());
  RolloutRequest out;
  out.job = proto.job();
  SLUICE_ASSIGN_OR_RETURN(out.domain, DomainFromProto(proto.domain()));
  out.seed = proto.seed();
  out.draw = proto.draw();
  out.indices.assign(proto.indices().begin(), proto.indices().end());
  out.attempt = proto.attempt();
  out.prompt_tokens.assign(proto.prompt_tokens().begin(), proto.prompt_tokens().end());
  absl::StatusOr<SamplingParams> sampling = FromProto(proto.sampling());
  if (!sampling.ok()) return Within("sampling", sampling.status());
  out.sampling = *std::move(sampling);
  SLUICE_RETURN_IF_ERROR(ReadBegun(proto, out));
  out.progress_every_tokens = proto.progress_every_tokens();
  out.progress_in_parts = proto.progress_in_parts();
  if (proto.has_only_policy_version()) out.only_version = proto.only_policy_version();
  return out;
}

v1::LoadPolicyRequest::SwapMode ToProto(SwapMode mode) {
  return mode == SwapMode::kContinue ? v1::LoadPolicyRequest::CONTINUE : v1::LoadPolicyRequest::FINISH;
}

absl::StatusOr<SwapMode> FromProto(v1::LoadPolicyRequest::SwapMode proto) {
  switch (proto) {
    case v1::LoadPolicyRequest::SWAP_MODE_UNSPECIFIED:
    case v1::LoadPolicyRequest::FINISH:
      return SwapMode::kFinish;
    case v1::LoadPolicyRequest::CONTINUE:
      return SwapMode::kContinue;
    default:
      return absl::InvalidArgumentError(absl::StrCat("swap_mode: unknown value ", static_cast<int>(proto)));
  }
}

v1::ControlRolloutRequest ToProto(RolloutCommand command) {
  v1::ControlRolloutRequest out;
  switch (command) {
    case RolloutCommand::kPause:
      out.set_command(v1::ControlRolloutRequest::PAUSE);
      break;
    case RolloutCommand::kResume:
      out.set_command(v1::ControlRolloutRequest::RESUME);
      break;
    case RolloutCommand::kAbort:
      out.set_command(v1::ControlRolloutRequest::ABORT);
      break;
    case RolloutCommand::kDrain:
      out.set_command(v1::ControlRolloutRequest::DRAIN);
      break;
  }
  return out;
}

absl::StatusOr<RolloutCommand> FromProto(const v1::ControlRolloutRequest& proto) {
  switch (proto.command()) {
    case v1::ControlRolloutRequest::PAUSE:
      return RolloutCommand::kPause;
    case v1::ControlRolloutRequest::RESUME:
      return RolloutCommand::kResume;
    case v1::ControlRolloutRequest::ABORT:
      return RolloutCommand::kAbort;
    case v1::ControlRolloutRequest::DRAIN:
      return RolloutCommand::kDrain;
    default:
      return absl::InvalidArgumentError(
          absl::StrCat("command: not a command (", static_cast<int>(proto.command()), ")"));
  }
}

v1::GetRolloutStateResponse ToProto(const RolloutWorkerState& state) {
  v1::GetRolloutStateResponse out;
  out.set_job(state.job);
  out.set_policy_version(state.version);
  out.set_kernel_path(state.kernel_path);
  out.set_running(state.running);
  out.set_queued(state.queued);
  out.set_tokens_generated(state.tokens_generated);
  out.set_paused(state.paused);
  out.set_draining(state.draining);
  return out;
}

absl::StatusOr<RolloutWorkerState> FromProto(const v1::GetRolloutStateResponse& proto) {
  FieldCheck check;
  check.AtMost(proto.job().size(), kMaxNameBytes, "job", "bytes");
  if (!proto.job().empty()) check.NotNegative(proto.policy_version(), "policy_version");
  check.AtMost(proto.kernel_path().size(), kMaxNameBytes, "kernel_path", "bytes");
  check.NotNegative(proto.running(), "running");
  check.NotNegative(proto.queued(), "queued");
  check.NotNegative(proto.tokens_generated(), "tokens_generated");
  SLUICE_RETURN_IF_ERROR(check.status());
  RolloutWorkerState out;
  out.job = proto.job();
  out.version = proto.job().empty() ? kNoPolicyVersion : proto.policy_version();
  out.kernel_path = proto.kernel_path();
  out.running = proto.running();
  out.queued = proto.queued();
  out.tokens_generated = proto.tokens_generated();
  out.paused = proto.paused();
  out.draining = proto.draining();
  return out;
}

absl::Status CheckResponseSize(const v1::GenerateResponse& response) {
  const size_t bytes = response.ByteSizeLong();
  if (bytes <= kMaxResponseBytes) return absl::OkStatus();
  return absl::ResourceExhaustedError(
      absl::StrCat("completion ", response.trajectory().key().index(), " has ", bytes, " bytes, at most ",
                   kMaxResponseBytes,
                   " are sent; lower sampling.max_new_tokens or top_logprobs, or leave record_experts out"));
}

}  // namespace sluice
