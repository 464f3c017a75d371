#include "services/cli/rows/json_lines.h"

#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <filesystem>
#include <iostream>
#include <map>
#include <thread>
#include <utility>

#include "absl/strings/ascii.h"
#include "absl/strings/str_cat.h"
#include "absl/synchronization/mutex.h"
#include "absl/time/clock.h"
#include "core/base/file.h"
#include "core/base/status.h"
#include "core/spec/text/json_rows.h"
#include "services/cli/rows/row_output.h"

namespace sluice::cli {
namespace {

using Json = nlohmann::json;

constexpr int64_t kMaxFileBytes = int64_t{4} << 30;
constexpr absl::Duration kProgressEvery = absl::Seconds(5);

// Tells how far the work is, now and then.
class Progress {
 public:
  Progress(size_t total, size_t done) : total_(total), done_(done), next_(absl::Now() + kProgressEvery) {}
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
  size_t done_ ABSL_GUARDED_BY(mu_);
  absl::Time next_ ABSL_GUARDED_BY(mu_);
};

nlohmann::ordered_json ErrorRow(const JsonLine& line, const absl::Status& status) {
  nlohmann::ordered_json out;
  if (line.row.ok() && line.row->contains("id")) out["id"] = line.row->at("id");
  out["error"] = std::string(status.message());
  out["line"] = line.number;
  return out;
}

// Holds results until those before them are written.
class InOrder {
 public:
  InOrder(const std::vector<JsonLine>& lines, size_t first, const WriteLines& write)
      : lines_(lines), write_(write), next_(first) {}

  void Put(size_t index, absl::StatusOr<RowResult> result) {
    absl::MutexLock lock(&mu_);
    waiting_.emplace(index, std::move(result));
    for (auto at = waiting_.find(next_); at != waiting_.end(); at = waiting_.find(next_)) {
      if (written_.ok()) written_ = write_(Text(at->first, at->second));
      waiting_.erase(at);
      ++next_;
    }
  }
  bool writable() const {
    absl::MutexLock lock(&mu_);
    return written_.ok();
  }
  absl::StatusOr<RowsOutcome> Outcome() const {
    absl::MutexLock lock(&mu_);
    if (!written_.ok()) return written_;
    return RowsOutcome{lines_.size(), next_, failed_, first_error_, ""};
  }

 private:
  std::string Text(size_t index, const absl::StatusOr<RowResult>& result) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mu_) {
    std::string out;
    const auto append = [&out](const nlohmann::ordered_json& row) {
      absl::StrAppend(&out, row.dump(-1, ' ', false, Json::error_handler_t::replace), "\n");
    };
    if (result.ok()) {
      for (const auto& row : result->rows) append(row);
      return out;
    }
    if (failed_++ == 0) first_error_ = Annotate(result.status(), absl::StrCat("line ", lines_[index].number));
    append(ErrorRow(lines_[index], result.status()));
    return out;
  }

  const std::vector<JsonLine>& lines_;
  const WriteLines& write_;
  mutable absl::Mutex mu_;
  std::map<size_t, absl::StatusOr<RowResult>> waiting_ ABSL_GUARDED_BY(mu_);
  size_t next_ ABSL_GUARDED_BY(mu_);
  size_t failed_ ABSL_GUARDED_BY(mu_) = 0;
  absl::Status first_error_ ABSL_GUARDED_BY(mu_), written_ ABSL_GUARDED_BY(mu_);
};

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

absl::StatusOr<RowsOutcome> ProcessRows(const std::vector<JsonLine>& lines, size_t first,
                                        const RowsOptions& options, const RowWork& work,
                                        const WriteLines& write) {
  InOrder results(lines, first, write);
  std::atomic<size_t> next{first};
  Progress progress(lines.size(), first);
  const auto run = [&] {
    while (!options.cancel.cancelled() && results.writable()) {
      const size_t i = next++;
      if (i >= lines.size()) return;
      results.Put(
          i, lines[i].row.ok() ? work(i, *lines[i].row) : absl::StatusOr<RowResult>(lines[i].row.status()));
      progress.RowDone();
    }
  };
  std::vector<std::thread> pool;
  const size_t count = std::min<size_t>(std::max(1, options.threads), lines.size());
  for (size_t t = 0; t < count; ++t) pool.emplace_back(run);
  for (std::thread& t : pool) t.join();
  return results.Outcome();
}

absl::StatusOr<DoneRows> FindDoneRows(const std::vector<JsonLine>& lines, const RowsOptions& options,
                                      absl::string_view output) {
  DoneRows done;
  size_t begin = 0, seen = 0;  // of the row under way
  while (done.rows < lines.size()) {
    const size_t end = output.find('\n', begin);
    if (end == output.npos) break;  // cut in the middle of a line
    const auto row = ParseJsonRow(output.substr(begin, end - begin));
    const JsonLine& line = lines[done.rows];
    if (!row.ok() ||
        (line.row.ok() && line.row->contains("id") && line.row->at("id") != row->value("id", Json()))) {
      return absl::InvalidArgumentError(
          absl::StrCat("--resume: the output is not of this input: see its row for line ", line.number));
    }
    begin = end + 1;
    const bool failed = row->contains("error");
    const size_t wanted =
        failed || !line.row.ok() || !options.lines_of_row ? 1 : options.lines_of_row(done.rows, *line.row);
    if (++seen < wanted) continue;
    seen = 0;
    ++done.rows;
    done.failed += failed ? 1 : 0;
    done.bytes = static_cast<int64_t>(begin);
  }
  return done;
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

absl::StatusOr<RowsOutcome> ProcessFile(const std::string& input, const std::string& output,
                                        const RowsOptions& options, const RowWork& work) {
  SLUICE_ASSIGN_OR_RETURN(const std::string text, ReadFile(input, kMaxFileBytes));
  const std::vector<JsonLine> lines = ParseJsonLines(text);
  DoneRows done;
  if (options.resume && FileExists(output)) {
    SLUICE_ASSIGN_OR_RETURN(const std::string earlier, ReadFile(output, kMaxFileBytes));
    SLUICE_ASSIGN_OR_RETURN(done, FindDoneRows(lines, options, earlier));
    std::cerr << "sluice: " << done.rows << " rows are in " << output << " already" << std::endl;
  }
  SLUICE_ASSIGN_OR_RETURN(const auto file, RowOutput::Open(output, done.bytes));
  SLUICE_ASSIGN_OR_RETURN(RowsOutcome outcome,
                          ProcessRows(lines, done.rows, options, work,
                                      [&file](absl::string_view rows) { return file->Write(rows); }));
  outcome.failed += done.failed;
  outcome.output = output;
  if (!outcome.first_error.ok()) outcome.first_error = Annotate(outcome.first_error, input);
  return outcome;
}

}  // namespace sluice::cli
