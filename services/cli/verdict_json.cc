#include "services/cli/verdict_json.h"

#include <map>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"

namespace sluice::cli {
namespace {

constexpr char kPassed[] = "passed";

}  // namespace

void AddEvidence(const v1::VerdictComponent& component, const char* class_name, nlohmann::ordered_json& out) {
  for (const v1::TestResult& t : component.tests()) {
    out["tests"].push_back({{class_name, t.outcome()},
                            {"seconds", t.seconds()},
                            {"memory_bytes", t.memory_bytes()},
                            {"detail", t.detail()}});
  }
  for (const v1::StepScore& s : component.steps())
    out["steps"].push_back({{"end_offset", s.end_offset()}, {"score", s.score()}});
  for (const std::string& stamp : component.stamps()) out["stamps"].push_back(stamp);
}

std::string TestsText(const v1::VerdictComponent& component) {
  if (component.tests().empty()) return "";
  std::map<std::string, int> failed;
  for (const v1::TestResult& t : component.tests()) {
    if (t.outcome() != kPassed) ++failed[t.outcome()];
  }
  int passed = component.tests_size();
  std::vector<std::string> parts;
  for (const auto& [outcome, count] : failed) {
    passed -= count;
    parts.push_back(absl::StrCat(outcome, " ", count));
  }
  return absl::StrCat(passed, " of ", component.tests_size(), " tests passed", parts.empty() ? "" : ": ",
                      absl::StrJoin(parts, ", "));
}

}  // namespace sluice::cli
