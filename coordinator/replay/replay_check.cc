#include "coordinator/replay/replay_check.h"

#include <algorithm>
#include <cmath>
#include <optional>
#include <vector>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"

namespace sluice {
namespace {

constexpr size_t kHashBytesShown = 12;

std::string Number(double value) { return absl::StrFormat("%.17g", value); }

// By its bits, but any NaN is as good as another.
bool Same(double a, double b) { return a == b || (std::isnan(a) && std::isnan(b)); }

const ScoredSample* Find(const Group& group, uint32_t index) {
  for (const ScoredSample& sample : group.samples) {
    if (sample.trajectory.key.index == index) return &sample;
  }
  return nullptr;
}

std::optional<ReplayDifference> CompareTokens(const Trajectory& recorded, const Trajectory& replayed) {
  const size_t size = std::max(recorded.tokens.size(), replayed.tokens.size());
  const auto token = [](const Trajectory& t, size_t i) {
    return i < t.tokens.size() ? absl::StrCat(t.tokens[i]) : std::string("none");
  };
  for (size_t i = 0; i < size; ++i) {
    if (token(recorded, i) == token(replayed, i)) continue;
    return ReplayDifference{absl::StrCat("token ", i), token(recorded, i), token(replayed, i)};
  }
  return std::nullopt;
}

std::optional<ReplayDifference> CompareLogprobs(const char* name, const std::vector<float>& recorded,
                                                const std::vector<float>& replayed) {
  const auto [a, b] = std::mismatch(recorded.begin(), recorded.end(), replayed.begin(), replayed.end());
  if (a == recorded.end() && b == replayed.end()) return std::nullopt;
  const auto value = [](auto at, auto end) { return at == end ? std::string("none") : Number(double{*at}); };
  return ReplayDifference{absl::StrCat(name, " log-probability of token ", a - recorded.begin()),
                          value(a, recorded.end()), value(b, replayed.end())};
}

std::optional<ReplayDifference> CompareSample(const ScoredSample* recorded, const ScoredSample* replayed) {
  if (recorded == nullptr || replayed == nullptr) {
    if (recorded == replayed) return std::nullopt;
    return ReplayDifference{"completion", recorded == nullptr ? "none" : "one",
                            replayed == nullptr ? "none" : "one"};
  }
  const Trajectory &a = recorded->trajectory, &b = replayed->trajectory;
  if (auto tokens = CompareTokens(a, b)) return tokens;
  if (auto raw = CompareLogprobs("raw", a.raw_logprobs, b.raw_logprobs)) return raw;
  if (auto processed = CompareLogprobs("processed", a.processed_logprobs, b.processed_logprobs))
    return processed;
  const auto reward = [](const Verdict& v) { return v.HasReward() ? Number(v.value) : std::string("none"); };
  if (reward(recorded->verdict) == reward(replayed->verdict)) return std::nullopt;
  return ReplayDifference{"reward", reward(recorded->verdict), reward(replayed->verdict)};
}

void NoteKernelPath(const Group& group, std::string& path) {
  for (const ScoredSample& sample : group.samples) {
    if (path.empty() && !sample.trajectory.spans.empty()) path = sample.trajectory.spans.front().kernel_path;
  }
}

}  // namespace

void CompareGroup(const RecordedGroup& plan, const Group& recorded, const Group& replayed,
                  ReplayStepView& step) {
  for (uint32_t i = 0; i < plan.samples; ++i) {
    if (plan.lost.count(i) > 0) {
      ++step.lost;
      continue;
    }
    ++(plan.taken ? step.taken : step.compared);
    auto difference = CompareSample(Find(recorded, i), Find(replayed, i));
    if (!difference) continue;
    ++step.different;
    difference->where = absl::StrCat("draw ", plan.draw, ", sample ", i, ", ", difference->where);
    if (!step.sample) step.sample = std::move(difference);
  }
  NoteKernelPath(recorded, step.recorded_kernel_path);
  if (!plan.taken) NoteKernelPath(replayed, step.kernel_path);
}

void CompareMetrics(const std::map<std::string, double>& recorded,
                    const std::map<std::string, double>& replayed, bool filtered, ReplayStepView& step) {
  const auto learns = [&](const std::string& name) {
    return !absl::EndsWith(name, "_seconds") && !absl::EndsWith(name, "_per_second") &&
           !(filtered && name == "group_ties") &&
           // Of all completions, also those that are lost, which a replay does not sample; not in older
           // records.
           !absl::StartsWith(name, "finish_") && !absl::StartsWith(name, "completion_tokens_") &&
           name != "truncated_share";
  };
  std::map<std::string, ReplayDifference> all;
  for (const auto& [name, value] : recorded) {
    if (learns(name)) all[name] = {name, Number(value), "none"};
  }
  for (const auto& [name, value] : replayed) {
    if (!learns(name)) continue;
    const auto before = recorded.find(name);
    if (before != recorded.end() && Same(before->second, value)) {
      all.erase(name);
    } else {
      all[name] = {name, before == recorded.end() ? "none" : Number(before->second), Number(value)};
    }
  }
  if (!all.empty()) step.metric = all.begin()->second;
}

std::string DifferenceOf(const ReplayStepView& step) {
  const auto said = [&](const char* what, const ReplayDifference& d) {
    return absl::StrCat("step ", step.version, ": ", what, d.where, ": recorded ", d.recorded, ", now ",
                        d.replayed);
  };
  if (step.sample) return said("", *step.sample);
  if (step.metric) return said("metric ", *step.metric);
  if (step.recorded_manifest == step.manifest) return "";
  return said("", {"weights", step.recorded_manifest.substr(0, kHashBytesShown),
                   step.manifest.substr(0, kHashBytesShown)});
}

}  // namespace sluice
