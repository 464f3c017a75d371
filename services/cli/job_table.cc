#include "services/cli/job_table.h"

#include <algorithm>
#include <array>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "services/cli/panel.h"

namespace sluice::cli {
namespace {

constexpr size_t kColumns = 5;
constexpr size_t kFirstOfNumbers = 3;  // the columns from here on are set to the right
constexpr size_t kMaxNameBytes = 40;

using Cells = std::array<std::string, kColumns>;

Cells CellsOf(const v1::Job& job) {
  const auto& metrics = job.last_step().metrics();
  const auto reward = metrics.find("reward");
  return {job.job(), job.spec().name().substr(0, kMaxNameBytes), StateName(job.state()),
          absl::StrCat(job.step(), " / ", job.spec().stop().steps()),
          reward == metrics.end() ? "-" : absl::StrFormat("%.4g", reward->second)};
}

}  // namespace

std::string RenderJobs(const std::vector<v1::Job>& jobs) {
  std::vector<Cells> lines = {{"job", "name", "state", "step", "reward"}};
  for (const v1::Job& job : jobs) lines.push_back(CellsOf(job));
  std::array<size_t, kColumns> widths = {};
  for (const Cells& line : lines) {
    for (size_t c = 0; c < kColumns; ++c) widths[c] = std::max(widths[c], line[c].size());
  }
  std::string out;
  for (const Cells& line : lines) {
    for (size_t c = 0; c < kColumns; ++c) {
      const std::string blanks(widths[c] - line[c].size(), ' ');
      absl::StrAppend(&out, c == 0 ? "" : "  ", c < kFirstOfNumbers ? line[c] + blanks : blanks + line[c]);
    }
    absl::StrAppend(&out, "\n");
  }
  return out;
}

}  // namespace sluice::cli
