#include "reward/code/outcome.h"

#include <utility>

#include "absl/strings/ascii.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "reward/quotation.h"

namespace sluice {
namespace {

absl::string_view LastLine(absl::string_view text) {
  text = absl::StripTrailingAsciiWhitespace(text);
  size_t end = text.rfind('\n');
  return end == absl::string_view::npos ? text : text.substr(end + 1);
}

}  // namespace

absl::string_view LimitOf(const RunResult& run) {
  switch (run.end) {
    case RunEnd::kTimeLimit:
      return outcome::kTimeLimit;
    case RunEnd::kMemoryLimit:
      return outcome::kMemoryLimit;
    case RunEnd::kOutputLimit:
      return outcome::kOutputLimit;
    case RunEnd::kProcessLimit:
      return outcome::kProcessLimit;
    case RunEnd::kInfrastructure:
      return outcome::kInfrastructure;
    default:
      return "";
  }
}

absl::string_view FailureOf(const RunResult& run) {
  absl::string_view limit = LimitOf(run);
  if (!limit.empty()) return limit;
  if (run.end == RunEnd::kExited && run.exit_code == 0) return "";
  absl::string_view last = LastLine(run.error_output);
  size_t colon = last.find(':');
  return OutcomeOfException(last.substr(0, colon),
                            colon == absl::string_view::npos ? "" : last.substr(colon + 1));
}

absl::string_view OutcomeOfException(absl::string_view name, absl::string_view text) {
  if (name == "MemoryError") return outcome::kMemoryLimit;
  bool no_process = name == "BlockingIOError" || absl::StrContains(text, "can't start new thread");
  return no_process ? outcome::kProcessLimit : outcome::kRuntimeError;
}

std::string DescribeEnd(const RunResult& run) {
  if (run.end == RunEnd::kInfrastructure) return absl::StrCat("the sandbox: ", Quotation(run.error));
  std::string end = run.end == RunEnd::kExited      ? absl::StrCat("exit status ", run.exit_code)
                    : run.end == RunEnd::kSignalled ? absl::StrCat("signal ", run.signal)
                    : run.end == RunEnd::kKilled    ? "killed"
                                                    : std::string(LimitOf(run));
  absl::string_view last = LastLine(run.error_output);
  return last.empty() ? end : absl::StrCat(end, ": ", Quotation(last));
}

TestResult MakeResult(absl::string_view outcome, std::string detail, const RunResult& run) {
  return {std::string(outcome), absl::ToDoubleSeconds(run.wall), run.peak_memory_bytes, std::move(detail)};
}

}  // namespace sluice
