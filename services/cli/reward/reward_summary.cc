#include "services/cli/reward/reward_summary.h"

#include <algorithm>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "absl/strings/str_join.h"

namespace sluice::cli {
namespace {

using Json = nlohmann::ordered_json;

std::string CountsText(const std::map<std::string, int64_t>& counts) {
  return absl::StrJoin(counts, ", ", [](std::string* out, const auto& entry) {
    absl::StrAppend(out, entry.first.empty() ? "-" : entry.first, " ", entry.second);
  });
}

bool HasText(const nlohmann::json& object, const char* name) {
  return object.contains(name) && object[name].is_string();
}

bool IsJudged(const nlohmann::json& object) {
  v1::VerdictKind kind;
  return object.is_object() && HasText(object, "class") && HasText(object, "verdict") &&
         v1::VerdictKind_Parse(object["verdict"].get<std::string>(), &kind) && object.contains("value") &&
         (object["value"].is_null() || object["value"].is_number());
}

bool IsComponent(const nlohmann::json& object) { return IsJudged(object) && HasText(object, "name"); }

std::string MeanText(const Json& mean) {
  return mean.is_null() ? "-" : absl::StrFormat("%.4f", mean.get<double>());
}

}  // namespace

void RewardSummary::Tally::Add(const nlohmann::json& judged) {
  ++classes[judged.at("class").get<std::string>()];
  if (judged.at("value").is_null()) return;
  ++rewarded;
  sum += judged.at("value").get<double>();
}

Json RewardSummary::Tally::Mean() const {
  return rewarded == 0 ? Json() : Json(sum / static_cast<double>(rewarded));
}

absl::Status RewardSummary::Add(const nlohmann::json& result) {
  if (!IsJudged(result) || !result.contains("components") || !result["components"].is_array() ||
      !std::all_of(result["components"].begin(), result["components"].end(), IsComponent)) {
    return absl::InvalidArgumentError("is no row that this command wrote");
  }
  const std::string verdict = result["verdict"];
  ++rows_;
  ++verdicts_[verdict];
  failed_ += verdict == v1::VerdictKind_Name(v1::INFRASTRUCTURE) || result["class"] == kInvalidRow;
  whole_.Add(result);
  for (const nlohmann::json& component : result["components"]) components_[component["name"]].Add(component);
  return absl::OkStatus();
}

std::string RewardSummary::ShareCorrect() const {
  if (whole_.rewarded == 0) return "";
  const auto correct = verdicts_.find(v1::VerdictKind_Name(v1::CORRECT));
  const double share = correct == verdicts_.end() ? 0 : static_cast<double>(correct->second);
  return absl::StrFormat("%.1f %% correct", 100 * share / static_cast<double>(whole_.rewarded));
}

Json RewardSummary::ToJson(absl::Duration taken) const {
  Json verdicts = Json::object(), components = Json::object();
  for (const v1::VerdictKind kind : {v1::CORRECT, v1::WRONG, v1::GRADED, v1::UNDECIDED, v1::INFRASTRUCTURE}) {
    const auto it = verdicts_.find(v1::VerdictKind_Name(kind));
    verdicts[v1::VerdictKind_Name(kind)] = it == verdicts_.end() ? 0 : it->second;
  }
  for (const RewardComponentSpec& c : spec_.components) {
    const auto it = components_.find(c.name);
    const Tally tally = it == components_.end() ? Tally() : it->second;
    components[c.name] = {
        {"judged", tally.rewarded}, {"mean_value", tally.Mean()}, {"classes", tally.classes}};
  }
  const double seconds = absl::ToDoubleSeconds(taken);
  return {{"rows", rows_},
          {"resumed", earlier_},
          {"failed", failed_},
          {"verdicts", std::move(verdicts)},
          {"classes", whole_.classes},
          {"mean_value", whole_.Mean()},
          {"components", std::move(components)},
          {"seconds", seconds},
          {"rows_per_second", seconds > 0 ? Json(static_cast<double>(new_rows()) / seconds) : Json()}};
}

std::string RewardSummary::ToText(absl::Duration taken) const {
  const Json json = ToJson(taken);
  const double seconds = absl::ToDoubleSeconds(taken);
  std::string out = absl::StrFormat("%d rows in %.1f s (%.0f/s)", new_rows(), seconds,
                                    static_cast<double>(new_rows()) / std::max(seconds, 1e-9));
  if (earlier_ > 0) absl::StrAppendFormat(&out, ", %d with those of an earlier run", rows_);
  absl::StrAppendFormat(&out, ", %d failed, mean value %s\n", failed_, MeanText(json["mean_value"]));
  std::vector<std::string> parts;
  for (const auto& [name, count] : json["verdicts"].items()) {
    if (count.get<int64_t>() > 0) parts.push_back(absl::StrCat(name, " ", count.get<int64_t>()));
  }
  absl::StrAppend(&out, "  verdicts  ", absl::StrJoin(parts, ", "), "\n");
  absl::StrAppend(&out, "  classes   ", CountsText(whole_.classes), "\n");
  for (const auto& [name, tally] : json["components"].items()) {
    absl::StrAppendFormat(&out, "  %s: mean %s over %d; %s\n", name, MeanText(tally["mean_value"]),
                          tally["judged"].get<int64_t>(),
                          CountsText(tally["classes"].get<std::map<std::string, int64_t>>()));
  }
  return out;
}

}  // namespace sluice::cli
