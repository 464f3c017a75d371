#include "services/wire/rollout.h"

#include <algorithm>
#include <set>
#include <utility>

#include "absl/strings/str_cat.h"
#include "core/base/status.h"
#include "services/wire/field_check.h"
#include "services/wire/types.h"

namespace sluice {
namespace {

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

}  // namespace

v1::GenerateRequest ToProto(const RolloutRequest& request) {
  v1::GenerateRequest out;
  out.set_job(request.job);
  out.set_domain(request.domain == RandomDomain::kEvaluation ? v1::EVALUATION : v1::TRAINING);
  out.set_seed(request.seed);
  out.set_draw(request.draw);
  out.mutable_indices()->Add(request.indices.begin(), request.indices.end());
  out.set_attempt(request.attempt);
  out.mutable_prompt_tokens()->Add(request.prompt_tokens.begin(), request.prompt_tokens.end());
  *out.mutable_sampling() = ToProto(request.sampling);
  return out;
}

absl::StatusOr<RolloutRequest> FromProto(const v1::GenerateRequest& proto) {
  FieldCheck check;
  check.Name(proto.job(), "job");
  CheckIndices(proto.indices(), check);
  check.Require(!proto.prompt_tokens().empty(), "prompt_tokens", "at least one is needed");
  check.TokenIds(proto.prompt_tokens(), kMaxTokens, "prompt_tokens");
  check.Require(proto.has_sampling(), "sampling", "is missing");
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
  return out;
}

v1::GetRolloutStateResponse ToProto(const RolloutWorkerState& state) {
  v1::GetRolloutStateResponse out;
  out.set_job(state.job);
  out.set_policy_version(state.version);
  out.set_kernel_path(state.kernel_path);
  out.set_running(state.running);
  out.set_queued(state.queued);
  out.set_tokens_generated(state.tokens_generated);
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
  return out;
}

}  // namespace sluice
