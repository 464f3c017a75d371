#include "core/base/log.h"

#include <unistd.h>

#include <atomic>

#include "absl/strings/escaping.h"
#include "absl/synchronization/mutex.h"
#include "absl/time/clock.h"
#include "absl/time/time.h"

namespace sluice {
namespace {

std::atomic<LogLevel> g_level{LogLevel::kInfo};

struct Role {
  absl::Mutex mu;
  std::string name ABSL_GUARDED_BY(mu) = "sluice";
};
Role& GetRole() {
  static Role* const role = new Role;
  return *role;
}

absl::string_view NameOf(LogLevel level) {
  switch (level) {
    case LogLevel::kDebug:
      return "DEBUG";
    case LogLevel::kInfo:
      return "INFO";
    case LogLevel::kWarning:
      return "WARNING";
    case LogLevel::kError:
      return "ERROR";
  }
  return "?";
}

std::string Quoted(const std::string& value) {
  if (!value.empty() && value.find_first_of(" \"\\\n\t=") == std::string::npos) return value;
  return absl::StrCat("\"", absl::Utf8SafeCEscape(value), "\"");
}

}  // namespace

void SetLogLevel(LogLevel level) { g_level.store(level); }

void SetLogRole(absl::string_view role) {
  absl::MutexLock lock(&GetRole().mu);
  GetRole().name = std::string(role);
}

void Log(LogLevel level, absl::string_view event, const std::vector<LogField>& fields) {
  if (level < g_level.load()) return;
  absl::MutexLock lock(&GetRole().mu);
  std::string line = absl::StrCat(absl::FormatTime("%Y-%m-%dT%H:%M:%E3SZ", absl::Now(), absl::UTCTimeZone()),
                                  " ", NameOf(level), " ", GetRole().name, " ", event);
  for (const LogField& field : fields) absl::StrAppend(&line, " ", field.key, "=", Quoted(field.value));
  line += '\n';
  // One write per line keeps lines of several processes apart. Nothing can be done when standard error is
  // gone.
  [[maybe_unused]] const ssize_t n = write(STDERR_FILENO, line.data(), line.size());
}

}  // namespace sluice
