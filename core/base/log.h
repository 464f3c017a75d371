// One line of log per state change, on standard error:
//   2026-01-02T03:04:05.678Z INFO coordinator job_running job=j1 step=3
// Thread-safe. Values with spaces or quotes are quoted.
#pragma once

#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/string_view.h"

namespace sluice {

enum class LogLevel { kDebug, kInfo, kWarning, kError };

struct LogField {
  template <typename T>
  LogField(absl::string_view k, const T& v) : key(k), value(absl::StrCat(v)) {}
  std::string key, value;
};

// Lines below this level are dropped (default kInfo).
void SetLogLevel(LogLevel level);
// The role that every line names, set once by main.
void SetLogRole(absl::string_view role);
void Log(LogLevel level, absl::string_view event, const std::vector<LogField>& fields = {});

inline void LogInfo(absl::string_view event, const std::vector<LogField>& f = {}) {
  Log(LogLevel::kInfo, event, f);
}
inline void LogWarning(absl::string_view event, const std::vector<LogField>& f = {}) {
  Log(LogLevel::kWarning, event, f);
}
inline void LogError(absl::string_view event, const std::vector<LogField>& f = {}) {
  Log(LogLevel::kError, event, f);
}

}  // namespace sluice
