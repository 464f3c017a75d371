#include "coordinator/store/view_json.h"

#include <cmath>
#include <limits>
#include <optional>

#include "absl/strings/str_cat.h"
#include "nlohmann/json.hpp"

namespace sluice {
namespace {

using nlohmann::json;

// JSON has no NaN: it becomes null.
json Numbers(const std::map<std::string, double>& values) {
  json out = json::object();
  for (const auto& [name, value] : values) out[name] = std::isfinite(value) ? json(value) : json(nullptr);
  return out;
}

std::map<std::string, double> NumbersFrom(const json& in) {
  std::map<std::string, double> out;
  for (const auto& [name, value] : in.items()) {
    out[name] = value.is_null() ? std::numeric_limits<double>::quiet_NaN() : value.get<double>();
  }
  return out;
}

template <typename T, typename F>
absl::StatusOr<T> Parse(absl::string_view text, F read) {
  // nlohmann reports wrong types by exceptions; they end here.
  try {
    const json in = json::parse(text.begin(), text.end());
    T out;
    read(in, out);
    return out;
  } catch (const json::exception& error) {
    return absl::DataLossError(absl::StrCat("a stored record cannot be read: ", error.what()));
  }
}

json DifferenceToJson(const ReplayDifference& d) {
  return {{"where", d.where}, {"recorded", d.recorded}, {"replayed", d.replayed}};
}

std::optional<ReplayDifference> DifferenceIn(const json& in, const char* name) {
  if (!in.contains(name)) return std::nullopt;
  const json& d = in.at(name);
  return ReplayDifference{d.at("where").get<std::string>(), d.at("recorded").get<std::string>(),
                          d.at("replayed").get<std::string>()};
}

json JsonOf(const EvaluationView& e) {
  json out = {{"step", e.step},
              {"policy_version", e.version},
              {"reward", e.reward},
              {"accuracy", e.accuracy},
              {"samples", e.samples},
              {"mean_tokens", e.mean_tokens},
              {"kinds", Numbers(e.accuracy_by_kind)}};
  if (e.train_reward) out["train_reward"] = *e.train_reward;
  if (!e.name.empty()) out["name"] = e.name;
  for (const auto& [k, share] : e.pass_at) out["pass_at"].push_back({k, share});
  for (const EvaluationView& other : e.others) out["others"].push_back(JsonOf(other));
  return out;
}

void ReadEvaluation(const json& in, EvaluationView& out) {
  out.step = in.at("step").get<int64_t>();
  out.version = in.at("policy_version").get<int64_t>();
  out.reward = in.at("reward").get<double>();
  out.accuracy = in.at("accuracy").get<double>();
  out.samples = in.at("samples").get<int64_t>();
  out.mean_tokens = in.at("mean_tokens").get<double>();
  out.accuracy_by_kind = NumbersFrom(in.at("kinds"));
  if (in.contains("train_reward")) out.train_reward = in.at("train_reward").get<double>();
  out.name = in.value("name", "");
  for (const json& pass : in.value("pass_at", json::array()))
    out.pass_at[pass.at(0).get<int32_t>()] = pass.at(1).get<double>();
  for (const json& other : in.value("others", json::array()))
    ReadEvaluation(other, out.others.emplace_back());
}

}  // namespace

std::string StepRecordToJson(const StepRecordView& record) {
  return json{{"step", record.step},
              {"policy_version", record.version},
              {"time", absl::ToUnixMicros(record.time)},
              {"metrics", Numbers(record.metrics)}}
      .dump(-1, ' ', false, json::error_handler_t::replace);
}

absl::StatusOr<StepRecordView> StepRecordFromJson(absl::string_view text) {
  return Parse<StepRecordView>(text, [](const json& in, StepRecordView& out) {
    out.step = in.at("step").get<int64_t>();
    out.version = in.at("policy_version").get<int64_t>();
    out.time = absl::FromUnixMicros(in.at("time").get<int64_t>());
    out.metrics = NumbersFrom(in.at("metrics"));
  });
}

std::string EvaluationToJson(const EvaluationView& e) {
  return JsonOf(e).dump(-1, ' ', false, json::error_handler_t::replace);
}

absl::StatusOr<EvaluationView> EvaluationFromJson(absl::string_view text) {
  return Parse<EvaluationView>(text, ReadEvaluation);
}

std::string ReplayStepToJson(const ReplayStepView& s) {
  json out = {{"version", s.version},
              {"recorded_manifest", s.recorded_manifest},
              {"manifest", s.manifest},
              {"compared", s.compared},
              {"different", s.different},
              {"taken", s.taken},
              {"lost", s.lost},
              {"recorded_kernel_path", s.recorded_kernel_path},
              {"kernel_path", s.kernel_path}};
  if (s.sample) out["sample"] = DifferenceToJson(*s.sample);
  if (s.metric) out["metric"] = DifferenceToJson(*s.metric);
  return out.dump(-1, ' ', false, json::error_handler_t::replace);
}

absl::StatusOr<ReplayStepView> ReplayStepFromJson(absl::string_view text) {
  return Parse<ReplayStepView>(text, [](const json& in, ReplayStepView& out) {
    out.version = in.at("version").get<int64_t>();
    out.recorded_manifest = in.at("recorded_manifest").get<std::string>();
    out.manifest = in.at("manifest").get<std::string>();
    out.compared = in.at("compared").get<int64_t>();
    out.different = in.at("different").get<int64_t>();
    out.taken = in.at("taken").get<int64_t>();
    out.lost = in.at("lost").get<int64_t>();
    out.recorded_kernel_path = in.at("recorded_kernel_path").get<std::string>();
    out.kernel_path = in.at("kernel_path").get<std::string>();
    out.sample = DifferenceIn(in, "sample");
    out.metric = DifferenceIn(in, "metric");
  });
}

}  // namespace sluice
