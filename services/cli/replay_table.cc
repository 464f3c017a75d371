#include "services/cli/replay_table.h"

#include <algorithm>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"

namespace sluice::cli {
namespace {

constexpr size_t kHashBytesShown = 12;
constexpr char kLine[] = "%6s  %-34s  %-26s  %s\n";

std::string Short(const std::string& hash) {
  return hash.empty() ? "unknown" : hash.substr(0, kHashBytesShown);
}

std::string WeightsOf(const v1::ReplayStep& step) {
  if (step.manifest_hash() == step.recorded_manifest_hash()) return "equal " + Short(step.manifest_hash());
  return absl::StrCat("DIFFER ", Short(step.recorded_manifest_hash()), " ", Short(step.manifest_hash()));
}

std::string SamplesOf(const v1::ReplayStep& step) {
  if (step.samples_compared() + step.samples_taken() == 0) return "-";
  std::string out = step.samples_different() > 0
                        ? absl::StrCat(step.samples_different(), " of ", step.samples_compared(), " DIFFER")
                        : absl::StrCat(step.samples_compared(), " equal");
  if (step.samples_taken() > 0) absl::StrAppend(&out, ", ", step.samples_taken(), " taken");
  return out;
}

std::string MetricsOf(const v1::ReplayStep& step) {
  if (step.has_metric()) {
    return absl::StrCat(step.metric().where(), ": ", step.metric().recorded(), " -> ",
                        step.metric().replayed());
  }
  return step.step() == 0 ? "-" : "equal";
}

std::string DifferenceOf(const v1::ReplayStep& step) {
  const auto said = [&](const std::string& where, const v1::ReplayDifference& d) {
    return absl::StrCat("step ", step.step(), ": ", where, ": recorded ", d.recorded(), ", now ",
                        d.replayed());
  };
  if (step.has_sample()) return said(step.sample().where(), step.sample());
  if (step.has_metric()) return said("metric " + step.metric().where(), step.metric());
  return absl::StrCat("step ", step.step(), ": weights: recorded ", Short(step.recorded_manifest_hash()),
                      ", now ", Short(step.manifest_hash()));
}

// Of the first step where they are not the same; empty: there is none.
std::string KernelPaths(const std::vector<v1::ReplayStep>& steps) {
  for (const v1::ReplayStep& step : steps) {
    if (step.kernel_path().empty() || step.recorded_kernel_path() == step.kernel_path()) continue;
    return absl::StrCat("recorded on kernel path ", step.recorded_kernel_path(), ", replayed on ",
                        step.kernel_path(), ": between kernel paths results differ\n");
  }
  return "";
}

}  // namespace

std::string ReplayHeading() { return absl::StrFormat(kLine, "step", "weights", "samples", "metrics"); }

std::string RenderReplayStep(const v1::ReplayStep& step) {
  return absl::StrFormat(kLine, absl::StrCat(step.step()), WeightsOf(step), SamplesOf(step), MetricsOf(step));
}

bool AllEqual(const std::vector<v1::ReplayStep>& steps) {
  return std::all_of(steps.begin(), steps.end(), [](const v1::ReplayStep& step) { return step.equal(); });
}

std::string RenderReplaySummary(const std::string& recorded, const std::vector<v1::ReplayStep>& steps) {
  int64_t compared = 0, taken = 0;
  for (const v1::ReplayStep& step : steps) {
    compared += step.samples_compared();
    taken += step.samples_taken();
  }
  const auto first =
      std::find_if(steps.begin(), steps.end(), [](const v1::ReplayStep& s) { return !s.equal(); });
  std::string out =
      first == steps.end()
          ? absl::StrCat("all equal to ", recorded, ": ", steps.empty() ? 0 : steps.back().step(), " steps, ",
                         compared, " samples\n")
          : absl::StrCat("differs from ", recorded, ", first in ", DifferenceOf(*first), "\n");
  if (taken > 0) {
    absl::StrAppend(&out, taken,
                    " samples of groups that were sampled across versions were taken over as recorded\n");
  }
  return out + KernelPaths(steps);
}

}  // namespace sluice::cli
