#include "services/wire/learner.h"

#include <cmath>
#include <limits>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/time/time.h"
#include "core/base/status.h"
#include "services/wire/field_check.h"
#include "services/wire/types.h"

namespace sluice {
namespace {

constexpr int64_t kMaxTimestampSeconds = 253402300799;  // end of the year 9999, as timestamp.proto says

}  // namespace

v1::SupervisedExample ToProto(const SupervisedExample& example) {
  v1::SupervisedExample out;
  out.mutable_tokens()->Add(example.tokens.begin(), example.tokens.end());
  out.set_prompt_size(example.prompt_size);
  return out;
}

absl::StatusOr<SupervisedExample> FromProto(const v1::SupervisedExample& proto) {
  FieldCheck check;
  check.TokenIds(proto.tokens(), 2 * kMaxTokens, "tokens");
  check.Require(proto.prompt_size() >= 1 && proto.prompt_size() < proto.tokens_size(), "prompt_size",
                absl::StrCat("must be at least 1 and below the number of tokens, ", proto.tokens_size()));
  SLUICE_RETURN_IF_ERROR(check.status());
  SupervisedExample out;
  out.tokens.assign(proto.tokens().begin(), proto.tokens().end());
  out.prompt_size = proto.prompt_size();
  return out;
}

v1::OpenJobResponse ToProto(const TrainerState& state) {
  v1::OpenJobResponse out;
  out.set_incarnation(state.incarnation);
  out.set_warm_start_steps(state.warm_start_steps);
  *out.mutable_policy() = ToProto(state.policy);
  out.mutable_policy()->set_policy_version(state.version);
  return out;
}

absl::StatusOr<TrainerState> FromProto(const v1::OpenJobResponse& proto) {
  FieldCheck check;
  check.Name(proto.incarnation(), "incarnation");
  check.NotNegative(proto.warm_start_steps(), "warm_start_steps");
  SLUICE_RETURN_IF_ERROR(check.status());
  TrainerState out;
  out.incarnation = proto.incarnation();
  out.warm_start_steps = proto.warm_start_steps();
  if (!proto.has_policy() || proto.policy().policy_version() == kNoPolicyVersion) return out;
  absl::StatusOr<PolicyRef> policy = FromProto(proto.policy());
  if (!policy.ok()) return Within("policy", policy.status());
  out.policy = *std::move(policy);
  out.version = out.policy.version;
  return out;
}

v1::StepResponse ToProto(const StepResult& result) {
  v1::StepResponse out;
  *out.mutable_policy() = ToProto(result.policy);
  *out.mutable_metrics() = ToProto(result.metrics);
  out.set_checkpointed(result.checkpointed);
  return out;
}

absl::StatusOr<StepResult> FromProto(const v1::StepResponse& proto) {
  StepResult out;
  absl::StatusOr<PolicyRef> policy = FromProto(proto.policy());
  if (!policy.ok()) return Within("policy", policy.status());
  out.policy = *std::move(policy);
  SLUICE_ASSIGN_OR_RETURN(out.metrics, FromProto(proto.metrics()));
  out.checkpointed = proto.checkpointed();
  return out;
}

v1::Checkpoint ToProto(const CheckpointInfo& info) {
  v1::Checkpoint out;
  out.set_policy_version(info.version);
  out.set_path(info.path);
  out.set_bytes(info.bytes);
  const int64_t seconds = absl::ToUnixSeconds(info.created);
  if (seconds >= 0 && seconds <= kMaxTimestampSeconds) {
    out.mutable_create_time()->set_seconds(seconds);
    out.mutable_create_time()->set_nanos(
        static_cast<int32_t>((info.created - absl::FromUnixSeconds(seconds)) / absl::Nanoseconds(1)));
  }
  return out;
}

absl::StatusOr<CheckpointInfo> FromProto(const v1::Checkpoint& proto) {
  FieldCheck check;
  check.NotNegative(proto.policy_version(), "policy_version");
  check.NotEmpty(proto.path(), "path");
  check.AtMost(proto.path().size(), kMaxPathBytes, "path", "bytes");
  check.NotNegative(proto.bytes(), "bytes");
  const auto& time = proto.create_time();
  check.Require(time.seconds() >= 0 && time.seconds() <= kMaxTimestampSeconds && time.nanos() >= 0 &&
                    time.nanos() < 1000000000,
                "create_time", "is not a time from 1970 to 9999");
  SLUICE_RETURN_IF_ERROR(check.status());
  CheckpointInfo out;
  out.version = proto.policy_version();
  out.path = proto.path();
  out.bytes = proto.bytes();
  out.created = absl::FromUnixSeconds(time.seconds()) + absl::Nanoseconds(time.nanos());
  return out;
}

MetricsMap ToProto(const StepMetrics& metrics) {
  MetricsMap out;
  for (const auto& [name, value] : metrics.values) {
    if (std::isfinite(value)) out[name] = value;
  }
  return out;
}

absl::StatusOr<StepMetrics> FromProto(const MetricsMap& proto) {
  FieldCheck check;
  check.AtMost(proto.size(), kMaxMetrics, "metrics", "members");
  StepMetrics out;
  for (const auto& [name, value] : proto) {
    check.Name(name, "metrics");
    check.Finite(value, absl::StrCat("metrics[\"", name.substr(0, 64), "\"]"));
    out.values[name] = value;
  }
  SLUICE_RETURN_IF_ERROR(check.status());
  return out;
}

}  // namespace sluice
