#include "services/cli/job_table.h"

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "services/cli/panel.h"
#include "services/cli/text_table.h"

namespace sluice::cli {
namespace {

constexpr size_t kFirstOfNumbers = 3;
constexpr size_t kMaxNameBytes = 40, kNameEndBytes = 20;

// Names of one stem differ at their ends.
std::string Shortened(const std::string& name) {
  if (name.size() <= kMaxNameBytes) return name;
  return absl::StrCat(name.substr(0, kMaxNameBytes - kNameEndBytes - 2), "..",
                      name.substr(name.size() - kNameEndBytes));
}

std::vector<std::string> CellsOf(const v1::Job& job) {
  const auto& metrics = job.last_step().metrics();
  const auto reward = metrics.find("reward");
  return {job.job(),
          Shortened(job.spec().name()),
          StateName(job.state()),
          absl::StrCat(job.step(), " / ", StepsOf(job.spec())),
          reward == metrics.end() ? "-" : absl::StrFormat("%.4g", reward->second),
          absl::StrCat(job.spec().share().priority()),
          absl::StrCat(job.rollout_workers())};
}

}  // namespace

std::string RenderJobs(const std::vector<v1::Job>& jobs) {
  std::vector<std::vector<std::string>> lines = {
      {"job", "name", "state", "step", "reward", "priority", "workers"}};
  for (const v1::Job& job : jobs) lines.push_back(CellsOf(job));
  return RenderTable(lines, kFirstOfNumbers);
}

}  // namespace sluice::cli
