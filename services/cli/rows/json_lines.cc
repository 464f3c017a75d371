#include "services/cli/rows/json_lines.h"

#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <filesystem>
#include <iostream>
#include <thread>

#include "absl/strings/ascii.h"
#include "absl/strings/str_cat.h"
#include "absl/synchronization/mutex.h"
#include "absl/time/clock.h"
#include "core/base/file.h"
#include "core/base/status.h"
#include "core/spec/text/json_rows.h"

namespace sluice::cli {
namespace {

using Json = nlohmann::json;

constexpr int64_t kMaxFileBytes = int64_t{4} << 30;
constexpr absl::Duration kProgressEvery = absl::Seconds(5);

// Tells how far the work is, now and then.
class Progress {
 public:
  explicit Progress(size_t total) : total_(total), next_(absl::Now() + kProgressEvery) {}
  void RowDone() {
    absl::MutexLock lock(&mu_);
    ++done_;
    if (absl::Now() < next_) return;
    next_ = absl::Now() + kProgressEvery;
    std::cerr << "sluice: " << done_ << " of " << total_ << " rows" << std::endl;
  }

 private:
  const size_t total_;
  absl::Mutex mu_;
  size_t done_ ABSL_GUARDED_BY(mu_) = 0;
  absl::Time next_ ABSL_GUARDED_BY(mu_);
};

nlohmann::ordered_json ErrorRow(const JsonLine& line, const absl::Status& status) {
  nlohmann::ordered_json out;
  if (line.row.ok() && line.row->contains("id")) out["id"] = line.row->at("id");
  out["error"] = std::string(status.message());
  out["line"] = line.number;
  return out;
}

}  // namespace

std::vector<JsonLine> ParseJsonLines(absl::string_view text) {
  std::vector<JsonLine> out;
  size_t number = 0, begin = 0;
  while (begin < text.size()) {
    const size_t end = std::min(text.find('\n', begin), text.size());
    const absl::string_view line = absl::StripAsciiWhitespace(text.substr(begin, end - begin));
    ++number;
    if (!line.empty()) out.push_back({number, ParseJsonRow(line)});
    begin = end + 1;
  }
  return out;
}

RowsOutcome ProcessRows(const std::vector<JsonLine>& lines, int threads, const RowWork& work) {
  std::vector<absl::StatusOr<RowResult>> results(lines.size(), absl::UnknownError("not done"));
  std::atomic<size_t> next{0};
  Progress progress(lines.size());
  const auto run = [&] {
    for (size_t i = next++; i < lines.size(); i = next++) {
      results[i] =
          lines[i].row.ok() ? work(i, *lines[i].row) : absl::StatusOr<RowResult>(lines[i].row.status());
      progress.RowDone();
    }
  };
  std::vector<std::thread> pool;
  const size_t count = std::min<size_t>(std::max(1, threads), lines.size());
  for (size_t t = 0; t < count; ++t) pool.emplace_back(run);
  for (std::thread& t : pool) t.join();
  RowsOutcome out;
  out.rows = lines.size();
  const auto append = [&](const nlohmann::ordered_json& row) {
    absl::StrAppend(&out.output, row.dump(-1, ' ', false, Json::error_handler_t::replace), "\n");
  };
  for (size_t i = 0; i < lines.size(); ++i) {
    if (results[i].ok()) {
      for (const auto& row : results[i]->rows) append(row);
      continue;
    }
    if (out.failed++ == 0)
      out.first_error = Annotate(results[i].status(), absl::StrCat("line ", lines[i].number));
    append(ErrorRow(lines[i], results[i].status()));
  }
  return out;
}

absl::Status CheckDistinct(const std::string& input, const std::string& output) {
  std::error_code absent;
  if (!std::filesystem::is_regular_file(input, absent) ||
      !std::filesystem::equivalent(input, output, absent)) {
    return absl::OkStatus();
  }
  return absl::InvalidArgumentError(
      absl::StrCat("--output ", output, ": is the file of --input, which it would replace; name another"));
}

absl::StatusOr<RowsOutcome> ProcessFile(const std::string& input, const std::string& output, int threads,
                                        const RowWork& work) {
  SLUICE_ASSIGN_OR_RETURN(const std::string text, ReadFile(input, kMaxFileBytes));
  RowsOutcome outcome = ProcessRows(ParseJsonLines(text), threads, work);
  if (!outcome.first_error.ok()) outcome.first_error = Annotate(outcome.first_error, input);
  SLUICE_RETURN_IF_ERROR(WriteFileAtomically(output, outcome.output));
  return outcome;
}

}  // namespace sluice::cli
