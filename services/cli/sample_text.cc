#include "services/cli/sample_text.h"

#include <algorithm>

#include "absl/strings/ascii.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "absl/strings/str_join.h"
#include "services/cli/verdict_json.h"

namespace sluice::cli {
namespace {

using Json = nlohmann::ordered_json;

// What only some scorers say is there only where they said it.
Json ComponentJson(const v1::VerdictComponent& c) {
  Json out = {{"name", c.name()},
              {"kind", v1::VerdictKind_Name(c.kind())},
              {"value", c.value()},
              {"weight", c.weight()},
              {"detail", c.detail()}};
  if (!c.outcome().empty()) out["outcome"] = c.outcome();
  AddEvidence(c, "outcome", out);
  return out;
}

Json VerdictJson(const v1::Verdict& verdict) {
  Json components = Json::array();
  for (const v1::VerdictComponent& c : verdict.components()) components.push_back(ComponentJson(c));
  return {{"kind", v1::VerdictKind_Name(verdict.kind())},
          {"value", verdict.value()},
          {"components", components},
          {"detail", verdict.detail()}};
}

Json SpansJson(const v1::Trajectory& trajectory) {
  Json spans = Json::array();
  for (const v1::VersionSpan& s : trajectory.spans()) {
    spans.push_back({{"begin", s.begin()},
                     {"end", s.end()},
                     {"policy_version", s.policy_version()},
                     {"manifest_hash", s.manifest_hash()},
                     {"kernel_path", s.kernel_path()}});
  }
  return spans;
}

// For each token [[token, logprob], ...], most probable first; empty when the job keeps none.
Json AlternativesJson(const v1::Trajectory& t) {
  Json out = Json::array();
  const int per_token = t.tokens_size() == 0 ? 0 : t.alternative_tokens_size() / t.tokens_size();
  for (int i = 0; i < (per_token == 0 ? 0 : t.tokens_size()); ++i) {
    Json list = Json::array();
    for (int k = i * per_token; k < (i + 1) * per_token; ++k)
      list.push_back({t.alternative_tokens(k), t.alternative_logprobs(k)});
    out.push_back(std::move(list));
  }
  return out;
}

// "version 3" or "versions 3 [0, 17), 4 [17, 40)".
std::string SpansText(const v1::Trajectory& t) {
  if (t.spans_size() == 1) return absl::StrCat("version ", t.spans(0).policy_version());
  std::vector<std::string> parts;
  for (const v1::VersionSpan& s : t.spans())
    parts.push_back(absl::StrFormat("%d [%d, %d)", s.policy_version(), s.begin(), s.end()));
  return absl::StrCat("versions ", absl::StrJoin(parts, ", "));
}

std::string StepsText(const v1::VerdictComponent& c) {
  std::vector<std::string> parts;
  for (const v1::StepScore& s : c.steps())
    parts.push_back(absl::StrFormat("%.3g to %d", s.score(), s.end_offset()));
  return absl::StrCat("steps ", absl::StrJoin(parts, ", "));
}

// "code: WRONG 0.7 x 0.5, wrong_answer, 7 of 10 tests passed: wrong_answer 3 [tests_visible]: DETAIL".
std::string ComponentText(const v1::VerdictComponent& c) {
  std::string out =
      absl::StrFormat("%s: %s %.4g x %.4g", c.name(), v1::VerdictKind_Name(c.kind()), c.value(), c.weight());
  if (!c.outcome().empty()) absl::StrAppend(&out, ", ", c.outcome());
  if (c.tests_size() > 0) absl::StrAppend(&out, ", ", TestsText(c));
  if (c.steps_size() > 0) absl::StrAppend(&out, ", ", StepsText(c));
  if (c.stamps_size() > 0) absl::StrAppend(&out, " [", absl::StrJoin(c.stamps(), ", "), "]");
  return c.detail().empty() ? out : absl::StrCat(out, ": ", c.detail());
}

template <typename Repeated>
Json ListJson(const Repeated& values) {
  Json out = Json::array();
  for (const auto v : values) out.push_back(v);
  return out;
}

}  // namespace

std::string FinishReasonName(v1::FinishReason reason) {
  return reason == v1::FINISH_REASON_UNSPECIFIED ? "" : absl::AsciiStrToLower(v1::FinishReason_Name(reason));
}

Json SampleJson(const v1::ListSamplesResponse& sample) {
  const v1::Trajectory& t = sample.trajectory();
  return {{"draw", t.key().draw()},
          {"index", t.key().index()},
          {"prompt", sample.prompt()},
          {"prompt_uid", sample.prompt_uid()},
          {"text", t.text()},
          {"tokens", ListJson(t.tokens())},
          {"logprobs", ListJson(t.raw_logprobs())},
          {"spans", SpansJson(t)},
          {"alternatives", AlternativesJson(t)},
          {"verdict", VerdictJson(sample.verdict())},
          {"advantage", sample.advantage()},
          {"worker", t.worker()},
          {"attempt", t.attempt()},
          {"ledger_column", sample.ledger_column()},
          {"step", sample.step()},
          {"finish_reason", FinishReasonName(t.finish_reason())}};
}

std::string VerdictLine(const v1::Verdict& verdict) {
  std::string out = v1::VerdictKind_Name(verdict.kind());
  absl::StrAppendFormat(&out, " %.4g", verdict.value());
  std::vector<std::string> parts;
  for (const v1::VerdictComponent& c : verdict.components()) {
    parts.push_back(
        absl::StrFormat("%s %.4g%s%s", c.name(), c.value(), c.detail().empty() ? "" : ": ", c.detail()));
  }
  if (parts.empty() && !verdict.detail().empty()) parts.push_back(verdict.detail());
  return parts.empty() ? out : absl::StrCat(out, " (", absl::StrJoin(parts, "; "), ")");
}

std::string VerdictText(const v1::Verdict& verdict) {
  std::string out = absl::StrFormat("%s %.4g\n", v1::VerdictKind_Name(verdict.kind()), verdict.value());
  if (verdict.components().empty() && !verdict.detail().empty())
    absl::StrAppend(&out, "  ", verdict.detail(), "\n");
  for (const v1::VerdictComponent& c : verdict.components())
    absl::StrAppend(&out, "  ", ComponentText(c), "\n");
  return out;
}

std::string SampleText(const v1::ListSamplesResponse& sample) {
  const v1::Trajectory& t = sample.trajectory();
  std::string out = absl::StrFormat("--- draw %d, sample %d", t.key().draw(), t.key().index());
  if (sample.step() > 0) absl::StrAppend(&out, ", step ", sample.step());
  if (!sample.ledger_column().empty()) absl::StrAppend(&out, ", ", sample.ledger_column());
  absl::StrAppendFormat(&out, ", advantage %.4g, %d tokens, %s, %s, %s\n", sample.advantage(),
                        t.tokens_size(), FinishReasonName(t.finish_reason()), SpansText(t), t.worker());
  return absl::StrCat(out, sample.prompt(), "\n>>> ", t.text(), "\n", VerdictText(sample.verdict()), "\n");
}

void SampleLengths::Add(const v1::ListSamplesResponse& sample) {
  const std::string reason = FinishReasonName(sample.trajectory().finish_reason());
  ++finished_[reason.empty() ? "not finished" : reason];
  tokens_.push_back(sample.trajectory().tokens_size());
}

std::string SampleLengths::Text() {
  if (tokens_.empty()) return "";
  std::sort(tokens_.begin(), tokens_.end());
  const size_t count = tokens_.size();
  const auto rank = [&](size_t percent) { return tokens_[(percent * count + 99) / 100 - 1]; };
  std::vector<std::string> reasons;
  for (const auto& [reason, samples] : finished_) reasons.push_back(absl::StrCat(reason, " ", samples));
  const int64_t cut = finished_.contains("length") ? finished_.at("length") : 0;
  return absl::StrFormat(
      "%d samples: %s; %.0f %% were cut off at max_new_tokens; tokens p50 %d, p95 %d, most %d\n", count,
      absl::StrJoin(reasons, ", "), 100 * static_cast<double>(cut) / static_cast<double>(count), rank(50),
      rank(95), tokens_.back());
}

Json LedgerJson(const v1::Ledger& l) {
  return {{"issued", l.issued()},
          {"in_flight", l.in_flight()},
          {"trained", l.trained()},
          {"dropped_stale", l.dropped_stale()},
          {"dropped_failed", l.dropped_failed()},
          {"dropped_filtered", l.dropped_filtered()},
          {"quarantined", l.quarantined()},
          {"cancelled", l.cancelled()},
          {"rolled_back", l.rolled_back()}};
}

}  // namespace sluice::cli
