#include "services/cli/supervisor/fleet_flags.h"

#include <algorithm>
#include <set>

#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "core/base/status.h"

namespace sluice::cli {
namespace {

// Equal results of a step need the same of these.
bool ChangesResults(const std::string& flag) {
  return flag == "--threads" || flag == "--learner-ranks" || flag == "--device";
}

std::string Shown(const FlagValues& flags, const std::string& name) {
  const auto at = flags.find(name);
  if (at == flags.end()) return "";
  return at->second.empty() ? "on" : absl::StrJoin(at->second, " ");
}

absl::Status BadValue(const std::string& name, const std::string& value) {
  return absl::InvalidArgumentError(absl::StrCat(name, ": \"", value, "\" is no value of it"));
}

}  // namespace

FlagValues FlagsOf(const FleetShape& shape) {
  FlagValues out = {{"--rollout", {absl::StrCat(shape.rollout_workers)}},
                    {"--reward", {absl::StrCat(shape.reward_workers)}},
                    {"--learner-ranks", {absl::StrCat(shape.learner_ranks)}},
                    {"--learner-gangs", {absl::StrCat(shape.learner_gangs)}},
                    {"--device", {shape.device}},
                    {"--stop-seconds", {absl::StrCat(shape.stop_seconds)}},
                    {"--hang-seconds", {absl::StrCat(shape.hang_seconds)}}};
  if (shape.threads > 0) out["--threads"] = {absl::StrCat(shape.threads)};
  if (shape.http) out["--http"] = {};
  if (!shape.scorers.empty()) out["--scorer"] = shape.scorers;
  if (shape.allow_weaker_sandbox) out["--allow-weaker-sandbox"] = {};
  if (shape.keep_samples_bytes) out["--keep-samples-bytes"] = {absl::StrCat(*shape.keep_samples_bytes)};
  if (shape.keep_free_bytes) out["--keep-free-bytes"] = {absl::StrCat(*shape.keep_free_bytes)};
  return out;
}

absl::StatusOr<FleetShape> ShapeOf(const FlagValues& flags) {
  FleetShape out;
  const auto number = [&flags](const char* name, int low, int high, int& field) -> absl::Status {
    const auto at = flags.find(name);
    if (at == flags.end()) return absl::OkStatus();
    int value = 0;
    if (at->second.size() != 1 || !absl::SimpleAtoi(at->second[0], &value) || value < low || value > high)
      return BadValue(name, Shown(flags, name));
    field = value;
    return absl::OkStatus();
  };
  const auto seconds = [&flags](const char* name, double low, double& field) -> absl::Status {
    const auto at = flags.find(name);
    if (at == flags.end()) return absl::OkStatus();
    double value = 0;
    if (at->second.size() != 1 || !absl::SimpleAtod(at->second[0], &value) ||
        !(value >= low && value <= 86400))
      return BadValue(name, Shown(flags, name));
    field = value;
    return absl::OkStatus();
  };
  const auto bytes = [&flags](const char* name, std::optional<uint64_t>& field) -> absl::Status {
    const auto at = flags.find(name);
    if (at == flags.end()) return absl::OkStatus();
    uint64_t value = 0;
    if (at->second.size() != 1 || !absl::SimpleAtoi(at->second[0], &value))
      return BadValue(name, Shown(flags, name));
    field = value;
    return absl::OkStatus();
  };
  SLUICE_RETURN_IF_ERROR(number("--rollout", 1, 256, out.rollout_workers));
  SLUICE_RETURN_IF_ERROR(number("--reward", 0, 256, out.reward_workers));
  SLUICE_RETURN_IF_ERROR(number("--learner-ranks", 1, 64, out.learner_ranks));
  SLUICE_RETURN_IF_ERROR(number("--learner-gangs", 1, 64, out.learner_gangs));
  SLUICE_RETURN_IF_ERROR(number("--threads", 1, 1024, out.threads));
  SLUICE_RETURN_IF_ERROR(seconds("--stop-seconds", 0, out.stop_seconds));
  SLUICE_RETURN_IF_ERROR(seconds("--hang-seconds", 0, out.hang_seconds));
  SLUICE_RETURN_IF_ERROR(bytes("--keep-samples-bytes", out.keep_samples_bytes));
  SLUICE_RETURN_IF_ERROR(bytes("--keep-free-bytes", out.keep_free_bytes));
  if (flags.contains("--device")) out.device = absl::StrJoin(flags.at("--device"), " ");
  if (flags.contains("--scorer")) out.scorers = flags.at("--scorer");
  out.http = flags.contains("--http");
  out.allow_weaker_sandbox = flags.contains("--allow-weaker-sandbox");
  return out;
}

std::vector<std::string> ArgumentsOf(const FlagValues& flags) {
  std::vector<std::string> out;
  for (const auto& [name, values] : flags) {
    if (values.empty()) out.push_back(name);
    for (const std::string& value : values) out.insert(out.end(), {name, value});
  }
  return out;
}

FlagValues WithRemembered(FlagValues now, const std::vector<std::string>& given,
                          const FlagValues& remembered) {
  const std::set<std::string> asked(given.begin(), given.end());
  for (const auto& [name, values] : remembered) {
    if (!asked.contains(name)) now[name] = values;
  }
  return now;
}

std::vector<std::string> Differences(const FlagValues& before, const FlagValues& now) {
  std::set<std::string> names;
  for (const FlagValues* flags : {&before, &now}) {
    for (const auto& [name, values] : *flags) names.insert(name);
  }
  std::vector<std::string> out;
  for (const std::string& name : names) {
    const std::string was = Shown(before, name), is = Shown(now, name);
    if (was == is) continue;
    out.push_back(absl::StrCat(
        name, " ", is.empty() ? "not set" : is, ", was ", was.empty() ? "not set" : was,
        ChangesResults(name) ? ": the steps of a job that goes on come out different from here on" : ""));
  }
  return out;
}

}  // namespace sluice::cli
