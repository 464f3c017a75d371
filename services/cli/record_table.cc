#include "services/cli/record_table.h"

#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "absl/time/time.h"
#include "services/cli/text_table.h"

namespace sluice::cli {
namespace {

absl::Time TimeOf(const google::protobuf::Timestamp& time) {
  return absl::FromUnixSeconds(time.seconds()) + absl::Nanoseconds(time.nanos());
}

std::string TimeText(const google::protobuf::Timestamp& time) {
  return absl::FormatTime("%Y-%m-%dT%H:%M:%E3SZ", TimeOf(time), absl::UTCTimeZone());
}

std::vector<std::string> CellsOf(const v1::Attempt& a) {
  const bool ended = a.has_end_time();
  return {a.worker(),
          ended ? a.outcome() : "under way",
          TimeText(a.start_time()),
          ended
              ? absl::StrFormat("%.3f", absl::ToDoubleSeconds(TimeOf(a.end_time()) - TimeOf(a.start_time())))
              : "-",
          absl::StrCat(a.draw()),
          absl::StrCat(a.number()),
          absl::StrCat(a.samples()),
          absl::StrCat(a.tokens())};
}

std::vector<std::string> CellsOf(const v1::QuarantinedSample& s) {
  return {absl::StrCat(s.draw(), "/", s.index()),
          s.prompt_row() < 0 ? "-" : absl::StrCat(s.prompt_row()),
          s.prompt_uid(),
          absl::StrCat(s.attempts()),
          s.has_time() ? TimeText(s.time()) : "-",
          s.released() ? "yes" : "no",
          s.reason()};
}

}  // namespace

std::string RenderAttempts(const v1::ListAttemptsResponse& attempts) {
  std::vector<std::vector<std::string>> lines = {
      {"worker", "outcome", "started", "seconds", "draw", "number", "samples", "tokens"}};
  for (const v1::Attempt& attempt : attempts.attempts()) lines.push_back(CellsOf(attempt));
  return RenderTable(lines, 3);
}

std::string RenderQuarantine(const v1::ListQuarantineResponse& quarantine) {
  std::vector<std::vector<std::string>> lines = {
      {"sample", "row", "prompt", "attempts", "time", "released", "reason"}};
  for (const v1::QuarantinedSample& sample : quarantine.samples()) lines.push_back(CellsOf(sample));
  return RenderTable(lines, lines[0].size());
}

}  // namespace sluice::cli
