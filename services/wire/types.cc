#include "services/wire/types.h"

#include <algorithm>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/types/span.h"
#include "core/base/status.h"
#include "core/rl/sampling_check.h"
#include "services/wire/field_check.h"
#include "services/wire/utf8.h"

namespace sluice {
namespace {

constexpr size_t kMaxTestDetailBytes = 1024;  // written; longer lines are cut
// A logarithm of a probability may round to a little above 0.
constexpr float kMaxLogprob = 1e-3f;
constexpr int32_t kMaxMoeLayers = 1024, kMaxExpertsPerToken = 1024;

void CheckLogprobs(const google::protobuf::RepeatedField<float>& logprobs, int tokens,
                   absl::string_view field, FieldCheck& check) {
  check.Require(logprobs.size() == tokens, field,
                absl::StrCat("has ", logprobs.size(), " numbers for ", tokens, " tokens"));
  for (float logprob : logprobs) {
    check.Finite(logprob, field);
    check.Require(logprob <= kMaxLogprob, field, "must not be above 0");
  }
}

// Spans cover the tokens in order, none is empty. Those of a part begin where it does.
void CheckSpans(const v1::Trajectory& proto, bool may_be_part, FieldCheck& check) {
  check.AtMost(proto.spans_size(), proto.tokens_size(), "spans", "spans");
  const bool part = may_be_part && proto.finish_reason() == v1::FINISH_REASON_UNSPECIFIED &&
                    proto.spans_size() > 0 && proto.spans(0).begin() > 0;
  const int32_t first = part ? proto.spans(0).begin() : 0;
  check.Require(first <= static_cast<int32_t>(kMaxTokens), "spans", "begin beyond the longest completion");
  int32_t next = first;
  for (const v1::VersionSpan& span : proto.spans()) {
    check.Require(span.begin() == next && span.end() > span.begin(), "spans",
                  absl::StrCat("[", span.begin(), ", ", span.end(), ") does not go on from token ", next));
    next = span.end();
  }
  check.Require(next - first == proto.tokens_size(), "spans",
                absl::StrCat("they end at token ", next, " of ", int64_t{first} + proto.tokens_size()));
}

// As many for each token, none impossible.
void CheckAlternatives(const v1::Trajectory& proto, FieldCheck& check) {
  const int tokens = proto.tokens_size(), alternatives = proto.alternative_tokens_size();
  check.Require(alternatives <= int64_t{kMaxTopLogprobs} * tokens, "alternative_tokens",
                absl::StrCat("more than ", kMaxTopLogprobs, " for a token"));
  check.Require(tokens == 0 || alternatives % tokens == 0, "alternative_tokens",
                absl::StrCat("has ", alternatives, " for ", tokens, " tokens"));
  check.TokenIds(proto.alternative_tokens(), kMaxTopLogprobs * kMaxTokens, "alternative_tokens");
  CheckLogprobs(proto.alternative_logprobs(), alternatives, "alternative_logprobs", check);
}

// Whole tokens: 2 bytes for each expert of each layer.
void CheckExperts(const v1::RoutedExperts& proto, FieldCheck& check) {
  check.AtMost(proto.ids().size(), kMaxExpertBytes, "experts.ids", "bytes");
  check.NotNegative(proto.moe_layers(), "experts.moe_layers");
  check.NotNegative(proto.per_token(), "experts.per_token");
  check.Require(proto.moe_layers() <= kMaxMoeLayers, "experts.moe_layers", "is absurd");
  check.Require(proto.per_token() <= kMaxExpertsPerToken, "experts.per_token", "is absurd");
  if (!check.status().ok() || proto.ids().empty()) return;
  const int64_t token_bytes = int64_t{2} * proto.moe_layers() * proto.per_token();
  check.Require(token_bytes > 0 && static_cast<int64_t>(proto.ids().size()) % token_bytes == 0, "experts.ids",
                absl::StrCat("has ", proto.ids().size(), " bytes for tokens of ", token_bytes));
}

v1::RoutedExperts ToProto(const RoutedExperts& experts) {
  v1::RoutedExperts out;
  out.set_moe_layers(experts.moe_layers);
  out.set_per_token(experts.per_token);
  AppendExpertIds(experts.ids, *out.mutable_ids());
  return out;
}

RoutedExperts ExpertsFromProto(const v1::RoutedExperts& proto) {
  RoutedExperts out{proto.moe_layers(), proto.per_token(), {}};
  const std::string& ids = proto.ids();
  out.ids.reserve(ids.size() / 2);
  for (size_t i = 0; i + 1 < ids.size(); i += 2) {
    out.ids.push_back(static_cast<uint16_t>(static_cast<unsigned char>(ids[i]) |
                                            static_cast<unsigned char>(ids[i + 1]) << 8));
  }
  return out;
}

absl::StatusOr<FinishReason> FinishReasonFromProto(v1::FinishReason proto) {
  switch (proto) {
    case v1::STOP:
      return FinishReason::kStop;
    case v1::LENGTH:
      return FinishReason::kLength;
    case v1::CANCELLED:
      return FinishReason::kCancelled;
    case v1::FINISH_REASON_UNSPECIFIED:
      return FinishReason::kUnspecified;
    default:
      return absl::InvalidArgumentError(
          absl::StrCat("finish_reason: unknown value ", static_cast<int>(proto)));
  }
}

v1::FinishReason ToProto(FinishReason reason) {
  switch (reason) {
    case FinishReason::kStop:
      return v1::STOP;
    case FinishReason::kLength:
      return v1::LENGTH;
    case FinishReason::kCancelled:
      return v1::CANCELLED;
    case FinishReason::kUnspecified:
      break;
  }
  return v1::FINISH_REASON_UNSPECIFIED;
}

v1::VerdictKind ToProto(VerdictKind kind) {
  switch (kind) {
    case VerdictKind::kCorrect:
      return v1::CORRECT;
    case VerdictKind::kWrong:
      return v1::WRONG;
    case VerdictKind::kGraded:
      return v1::GRADED;
    case VerdictKind::kUndecided:
      return v1::UNDECIDED;
    case VerdictKind::kInfrastructure:
      return v1::INFRASTRUCTURE;
    case VerdictKind::kUnspecified:
      break;
  }
  return v1::VERDICT_KIND_UNSPECIFIED;
}

absl::StatusOr<VerdictKind> VerdictKindFromProto(v1::VerdictKind proto) {
  switch (proto) {
    case v1::CORRECT:
      return VerdictKind::kCorrect;
    case v1::WRONG:
      return VerdictKind::kWrong;
    case v1::GRADED:
      return VerdictKind::kGraded;
    case v1::UNDECIDED:
      return VerdictKind::kUndecided;
    case v1::INFRASTRUCTURE:
      return VerdictKind::kInfrastructure;
    default:
      return absl::InvalidArgumentError(absl::StrCat("kind: not a verdict (", static_cast<int>(proto), ")"));
  }
}

// Lines for people are cut, not refused, by whoever makes them.
std::string Detail(const std::string& text) { return ToValidUtf8(absl::string_view(text).substr(0, 4096)); }

void WriteTests(const std::vector<TestResult>& tests, v1::VerdictComponent& out) {
  for (const TestResult& test : absl::MakeSpan(tests).first(std::min(tests.size(), kMaxVerdictParts))) {
    v1::TestResult* proto = out.add_tests();
    proto->set_outcome(ToValidUtf8(test.outcome));
    proto->set_seconds(test.seconds);
    proto->set_memory_bytes(test.memory_bytes);
    proto->set_detail(ToValidUtf8(absl::string_view(test.detail).substr(0, kMaxTestDetailBytes)));
  }
}

void ReadTests(const v1::VerdictComponent& proto, VerdictComponent& out, FieldCheck& check) {
  check.AtMost(proto.tests_size(), kMaxVerdictParts, "tests", "members");
  for (const v1::TestResult& test : proto.tests()) {
    check.AtMost(test.outcome().size(), kMaxNameBytes, "tests.outcome", "bytes");
    check.Finite(test.seconds(), "tests.seconds");
    check.Require(!(test.seconds() < 0), "tests.seconds", "must not be negative");
    check.NotNegative(test.memory_bytes(), "tests.memory_bytes");
    check.AtMost(test.detail().size(), kMaxDetailBytes, "tests.detail", "bytes");
    if (!check.status().ok()) return;
    out.tests.push_back({test.outcome(), test.seconds(), test.memory_bytes(), test.detail()});
  }
}

// In order, and within a text of the largest size.
void ReadSteps(const v1::VerdictComponent& proto, VerdictComponent& out, FieldCheck& check) {
  check.AtMost(proto.steps_size(), kMaxVerdictParts, "steps", "members");
  int64_t before = 0;
  for (const v1::StepScore& step : proto.steps()) {
    check.Finite(step.score(), "steps.score");
    check.Require(step.end_offset() >= before && step.end_offset() <= static_cast<int64_t>(kMaxTextBytes),
                  "steps.end_offset", absl::StrCat(step.end_offset(), " does not go on from ", before));
    if (!check.status().ok()) return;
    out.steps.push_back({step.end_offset(), step.score()});
    before = step.end_offset();
  }
}

void WriteComponent(const VerdictComponent& component, v1::VerdictComponent& out) {
  out.set_name(component.name);
  out.set_kind(ToProto(component.kind));
  out.set_value(component.value);
  out.set_weight(component.weight);
  out.set_detail(Detail(component.detail));
  out.set_outcome(ToValidUtf8(component.outcome));
  WriteTests(component.tests, out);
  for (const StepScore& step : component.steps) {
    out.add_steps()->set_end_offset(step.end_offset);
    out.mutable_steps()->rbegin()->set_score(step.score);
  }
  for (const std::string& stamp : component.stamps) out.add_stamps(ToValidUtf8(stamp));
}

absl::StatusOr<VerdictComponent> ComponentFromProto(const v1::VerdictComponent& proto) {
  FieldCheck check;
  check.Name(proto.name(), "name");
  check.Finite(proto.value(), "value");
  check.Finite(proto.weight(), "weight");
  check.AtMost(proto.detail().size(), kMaxDetailBytes, "detail", "bytes");
  check.AtMost(proto.outcome().size(), kMaxNameBytes, "outcome", "bytes");
  check.AtMost(proto.stamps_size(), kMaxStamps, "stamps", "members");
  for (const std::string& stamp : proto.stamps()) check.Name(stamp, "stamps");
  VerdictComponent out;
  ReadTests(proto, out, check);
  ReadSteps(proto, out, check);
  SLUICE_RETURN_IF_ERROR(check.status());
  out.name = proto.name();
  SLUICE_ASSIGN_OR_RETURN(out.kind, VerdictKindFromProto(proto.kind()));
  out.value = proto.value();
  out.weight = proto.weight();
  out.detail = proto.detail();
  out.outcome = proto.outcome();
  out.stamps.assign(proto.stamps().begin(), proto.stamps().end());
  return out;
}

}  // namespace

void AppendExpertIds(absl::Span<const uint16_t> ids, std::string& to) {
  size_t at = to.size();
  to.resize(at + 2 * ids.size());
  for (uint16_t id : ids) {
    to[at++] = static_cast<char>(id & 0xff);
    to[at++] = static_cast<char>(id >> 8);
  }
}

v1::SamplingParams ToProto(const SamplingParams& params) {
  v1::SamplingParams out;
  out.set_temperature(params.temperature);
  out.set_top_k(params.top_k);
  out.set_top_p(params.top_p);
  out.set_max_new_tokens(params.max_new_tokens);
  out.mutable_stop_token_ids()->Add(params.stop_token_ids.begin(), params.stop_token_ids.end());
  for (const std::string& stop : params.stop) out.add_stop(stop);
  out.set_ignore_eos(params.ignore_eos);
  out.set_min_p(params.min_p);
  out.set_repetition_penalty(params.repetition_penalty);
  out.set_presence_penalty(params.presence_penalty);
  out.set_frequency_penalty(params.frequency_penalty);
  out.mutable_logit_bias()->insert(params.logit_bias.begin(), params.logit_bias.end());
  out.set_min_new_tokens(params.min_new_tokens);
  out.set_top_logprobs(params.top_logprobs);
  out.set_record_experts(params.record_experts);
  return out;
}

absl::StatusOr<SamplingParams> FromProto(const v1::SamplingParams& proto) {
  SamplingParams out;
  if (proto.has_temperature()) out.temperature = proto.temperature();
  if (proto.has_top_p()) out.top_p = proto.top_p();
  if (proto.has_repetition_penalty()) out.repetition_penalty = proto.repetition_penalty();
  out.top_k = proto.top_k();
  out.max_new_tokens = proto.max_new_tokens();
  out.stop_token_ids.assign(proto.stop_token_ids().begin(), proto.stop_token_ids().end());
  out.stop.assign(proto.stop().begin(), proto.stop().end());
  out.ignore_eos = proto.ignore_eos();
  out.min_p = proto.min_p();
  out.presence_penalty = proto.presence_penalty();
  out.frequency_penalty = proto.frequency_penalty();
  out.logit_bias.insert(proto.logit_bias().begin(), proto.logit_bias().end());
  out.min_new_tokens = proto.min_new_tokens();
  out.top_logprobs = proto.top_logprobs();
  out.record_experts = proto.record_experts();
  SLUICE_RETURN_IF_ERROR(Validate(out));
  return out;
}

v1::VersionSpan ToProto(const VersionSpan& span) {
  v1::VersionSpan out;
  out.set_begin(span.begin);
  out.set_end(span.end);
  out.set_policy_version(span.version);
  out.set_manifest_hash(span.manifest_hash);
  out.set_kernel_path(span.kernel_path);
  return out;
}

absl::StatusOr<VersionSpan> FromProto(const v1::VersionSpan& proto) {
  FieldCheck check;
  check.NotNegative(proto.begin(), "begin");
  check.Require(proto.end() > proto.begin(), "end", "must be above begin");
  check.NotNegative(proto.policy_version(), "policy_version");
  check.Name(proto.manifest_hash(), "manifest_hash");
  check.AtMost(proto.kernel_path().size(), kMaxNameBytes, "kernel_path", "bytes");
  SLUICE_RETURN_IF_ERROR(check.status());
  return VersionSpan{proto.begin(), proto.end(), proto.policy_version(), proto.manifest_hash(),
                     proto.kernel_path()};
}

v1::Trajectory ToProto(const Trajectory& trajectory) {
  v1::Trajectory out;
  out.mutable_key()->set_draw(trajectory.key.draw);
  out.mutable_key()->set_index(trajectory.key.index);
  out.mutable_tokens()->Add(trajectory.tokens.begin(), trajectory.tokens.end());
  out.mutable_raw_logprobs()->Add(trajectory.raw_logprobs.begin(), trajectory.raw_logprobs.end());
  out.mutable_processed_logprobs()->Add(trajectory.processed_logprobs.begin(),
                                        trajectory.processed_logprobs.end());
  for (const VersionSpan& span : trajectory.spans) *out.add_spans() = ToProto(span);
  out.set_finish_reason(ToProto(trajectory.finish_reason));
  out.set_text(ToValidUtf8(trajectory.text));
  out.set_worker(trajectory.worker);
  out.set_attempt(trajectory.attempt);
  for (const TokenAlternative& alternative : trajectory.alternatives) {
    out.add_alternative_tokens(alternative.token);
    out.add_alternative_logprobs(alternative.raw_logprob);
  }
  if (!trajectory.experts.ids.empty()) *out.mutable_experts() = ToProto(trajectory.experts);
  return out;
}

static absl::StatusOr<Trajectory> TrajectoryFromProto(const v1::Trajectory& proto, bool may_be_part) {
  FieldCheck check;
  check.Require(proto.key().index() < kMaxGroupMembers, "key.index",
                absl::StrCat("must be below ", kMaxGroupMembers));
  check.TokenIds(proto.tokens(), kMaxTokens, "tokens");
  CheckLogprobs(proto.raw_logprobs(), proto.tokens_size(), "raw_logprobs", check);
  CheckLogprobs(proto.processed_logprobs(), proto.tokens_size(), "processed_logprobs", check);
  CheckSpans(proto, may_be_part, check);
  CheckAlternatives(proto, check);
  CheckExperts(proto.experts(), check);
  check.AtMost(proto.text().size(), kMaxTextBytes, "text", "bytes");
  check.AtMost(proto.worker().size(), kMaxNameBytes, "worker", "bytes");
  SLUICE_RETURN_IF_ERROR(check.status());
  Trajectory out;
  out.key = {proto.key().draw(), proto.key().index()};
  out.tokens.assign(proto.tokens().begin(), proto.tokens().end());
  out.raw_logprobs.assign(proto.raw_logprobs().begin(), proto.raw_logprobs().end());
  out.processed_logprobs.assign(proto.processed_logprobs().begin(), proto.processed_logprobs().end());
  for (const v1::VersionSpan& span : proto.spans()) {
    absl::StatusOr<VersionSpan> parsed = FromProto(span);
    if (!parsed.ok()) return Within("spans", parsed.status());
    out.spans.push_back(*std::move(parsed));
  }
  SLUICE_ASSIGN_OR_RETURN(out.finish_reason, FinishReasonFromProto(proto.finish_reason()));
  out.text = proto.text();
  out.worker = proto.worker();
  out.attempt = proto.attempt();
  for (int i = 0; i < proto.alternative_tokens_size(); ++i)
    out.alternatives.push_back({proto.alternative_tokens(i), proto.alternative_logprobs(i)});
  if (proto.has_experts()) out.experts = ExpertsFromProto(proto.experts());
  return out;
}

absl::StatusOr<Trajectory> FromProto(const v1::Trajectory& proto) {
  return TrajectoryFromProto(proto, /*may_be_part=*/false);
}

absl::StatusOr<Trajectory> PartFromProto(const v1::Trajectory& proto) {
  return TrajectoryFromProto(proto, /*may_be_part=*/true);
}

v1::Verdict ToProto(const Verdict& verdict) {
  v1::Verdict out;
  out.set_kind(ToProto(verdict.kind));
  out.set_value(verdict.value);
  for (const VerdictComponent& component : verdict.components) {
    WriteComponent(component, *out.add_components());
  }
  out.set_detail(Detail(verdict.detail));
  out.set_seconds(verdict.seconds);
  return out;
}

absl::StatusOr<Verdict> FromProto(const v1::Verdict& proto) {
  FieldCheck check;
  check.Finite(proto.value(), "value");
  check.Finite(proto.seconds(), "seconds");
  check.Require(!(proto.seconds() < 0), "seconds", "must not be negative");
  check.AtMost(proto.components_size(), kMaxComponents, "components", "members");
  check.AtMost(proto.detail().size(), kMaxDetailBytes, "detail", "bytes");
  SLUICE_RETURN_IF_ERROR(check.status());
  Verdict out;
  SLUICE_ASSIGN_OR_RETURN(out.kind, VerdictKindFromProto(proto.kind()));
  out.value = proto.value();
  for (int i = 0; i < proto.components_size(); ++i) {
    absl::StatusOr<VerdictComponent> component = ComponentFromProto(proto.components(i));
    if (!component.ok()) return Within(absl::StrCat("components[", i, "]"), component.status());
    out.components.push_back(*std::move(component));
  }
  out.detail = proto.detail();
  out.seconds = proto.seconds();
  return out;
}

v1::PolicyRef ToProto(const PolicyRef& policy) {
  v1::PolicyRef out;
  out.set_job(policy.job);
  out.set_policy_version(policy.version);
  out.set_manifest_hash(policy.manifest_hash);
  out.set_source(policy.source);
  out.set_recorded_job_hash(policy.recorded_job_hash);
  return out;
}

absl::StatusOr<PolicyRef> FromProto(const v1::PolicyRef& proto) {
  FieldCheck check;
  check.Name(proto.job(), "job");
  check.NotNegative(proto.policy_version(), "policy_version");
  check.Name(proto.manifest_hash(), "manifest_hash");
  check.AtMost(proto.source().size(), kMaxPathBytes, "source", "bytes");
  SLUICE_RETURN_IF_ERROR(check.status());
  return PolicyRef{proto.job(), proto.policy_version(), proto.manifest_hash(), proto.source(),
                   proto.recorded_job_hash()};
}

v1::Ledger ToProto(const Ledger& ledger) {
  v1::Ledger out;
  out.set_issued(ledger.issued);
  out.set_in_flight(ledger[LedgerColumn::kInFlight]);
  out.set_trained(ledger[LedgerColumn::kTrained]);
  out.set_dropped_stale(ledger[LedgerColumn::kDroppedStale]);
  out.set_dropped_failed(ledger[LedgerColumn::kDroppedFailed]);
  out.set_dropped_filtered(ledger[LedgerColumn::kDroppedFiltered]);
  out.set_quarantined(ledger[LedgerColumn::kQuarantined]);
  out.set_cancelled(ledger[LedgerColumn::kCancelled]);
  out.set_rolled_back(ledger[LedgerColumn::kRolledBack]);
  return out;
}

absl::StatusOr<Ledger> FromProto(const v1::Ledger& proto) {
  Ledger out;
  out.issued = proto.issued();
  out[LedgerColumn::kInFlight] = proto.in_flight();
  out[LedgerColumn::kTrained] = proto.trained();
  out[LedgerColumn::kDroppedStale] = proto.dropped_stale();
  out[LedgerColumn::kDroppedFailed] = proto.dropped_failed();
  out[LedgerColumn::kDroppedFiltered] = proto.dropped_filtered();
  out[LedgerColumn::kQuarantined] = proto.quarantined();
  out[LedgerColumn::kCancelled] = proto.cancelled();
  out[LedgerColumn::kRolledBack] = proto.rolled_back();
  constexpr int64_t kMaxSamples = int64_t{1} << 56;  // so that the sum of the columns cannot overflow
  FieldCheck check;
  for (int i = 0; i < kLedgerColumns; ++i) {
    check.Require(out.columns[i] >= 0 && out.columns[i] <= kMaxSamples,
                  LedgerColumnName(static_cast<LedgerColumn>(i)), "must be between 0 and 2^56");
  }
  SLUICE_RETURN_IF_ERROR(check.status());
  check.Require(out.Balances(), "issued", "must be the sum of the other columns");
  SLUICE_RETURN_IF_ERROR(check.status());
  return out;
}

}  // namespace sluice
