#include "services/cli/demo/report.h"

#include <algorithm>
#include <numeric>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "services/cli/sample_text.h"

namespace sluice::cli {
namespace {

using Json = nlohmann::ordered_json;

constexpr size_t kSmoothedSteps = 5;

// Over the first or the last few; null when there are none.
Json MeanAtEnd(const std::vector<double>& values, bool first) {
  if (values.empty()) return nullptr;
  const size_t count = std::min(kSmoothedSteps, values.size());
  const auto begin = first ? values.begin() : values.end() - count;
  return std::accumulate(begin, begin + count, 0.0) / static_cast<double>(count);
}

Json LastOf(const std::vector<double>& values) {
  return values.empty() ? Json(nullptr) : Json(values.back());
}

std::string Row(const std::string& kind, double before, double after) {
  return absl::StrFormat("  %-16s%10.3f%10.3f%+10.3f\n", kind, before, after, after - before);
}

}  // namespace

Json DemoJson(const DemoReport& report) {
  const v1::Job& job = report.job;
  const auto reward = report.history.Series("reward"), entropy = report.history.Series("entropy");
  const auto& evaluations = job.evaluations();
  return {{"steps", job.step()},
          {"seconds", report.seconds},
          {"reward_first", MeanAtEnd(reward, true)},
          {"reward_last", MeanAtEnd(reward, false)},
          {"heldout_before", evaluations.empty() ? Json(nullptr) : Json(evaluations.begin()->accuracy())},
          {"heldout_after", evaluations.empty() ? Json(nullptr) : Json(evaluations.rbegin()->accuracy())},
          {"kl_last", LastOf(report.history.Series("kl"))},
          {"entropy_first", MeanAtEnd(entropy, true)},
          {"entropy_last", MeanAtEnd(entropy, false)},
          {"max_staleness", job.max_staleness()},
          {"exact_compared", job.exact_compared()},
          {"exact_max_difference", job.exact_max_difference()},
          {"ledger", LedgerJson(job.ledger())}};
}

std::string DemoTable(const v1::Job& job) {
  if (job.evaluations().empty()) return "no evaluation was made\n";
  const v1::Evaluation& before = *job.evaluations().begin();
  const v1::Evaluation& after = *job.evaluations().rbegin();
  std::string out = absl::StrFormat("  %-16s%10s%10s%10s\n", "held-out digits", "before", "after", "change");
  std::vector<std::pair<double, std::string>> kinds;  // the easiest first
  for (const auto& [kind, accuracy] : before.accuracy_by_kind()) kinds.emplace_back(-accuracy, kind);
  std::sort(kinds.begin(), kinds.end());
  for (const auto& [negative, kind] : kinds) {
    const auto a = after.accuracy_by_kind().find(kind);
    if (a != after.accuracy_by_kind().end()) out += Row(kind, -negative, a->second);
  }
  return out + Row("all", before.accuracy(), after.accuracy());
}

std::string DemoNextSteps(const DemoPlace& place, const std::string& job) {
  const std::string run = absl::StrCat("  ", place.program, " ");
  const std::string at = absl::StrCat(" --state ", place.state);
  std::string out = "\nWhat to try next\n";
  const auto add = [&out](absl::string_view comment, const std::string& command) {
    absl::StrAppend(&out, "  # ", comment, "\n", command, "\n");
  };
  if (!place.kept) add("the fleet again", absl::StrCat(run, "up --detach ", place.flags, at));
  add("completions with their verdicts", absl::StrCat(run, "samples ", job, at));
  add("a longer job, and its live panel",
      absl::StrCat(run, "submit ", place.files, "/job.textproto --set stop.steps=400", at, "\n", run,
                   "watch JOB", at));
  add(absl::StrCat("while it runs, kill any process of ", place.state,
                   "/cluster.json: it goes on, and the ledger sums"),
      absl::StrCat("  kill -9 PID\n", run, "ledger JOB", at));
  add("the model as a Hugging Face directory, and what it writes",
      absl::StrCat(run, "export ", job, " demo-model", at,
                   "\n  echo '{\"prompt\":\"5 2 8:\",\"n\":4,\"max_tokens\":8}' >in.jsonl\n", run,
                   "generate --model demo-model --input in.jsonl --output out.jsonl"));
  add("stop the fleet", absl::StrCat(run, "down", at));
  return out;
}

}  // namespace sluice::cli
