#include "bench/long_completions/links.h"

#include <fcntl.h>
#include <signal.h>
#include <unistd.h>

#include <cstdlib>
#include <utility>

#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "core/base/file.h"

namespace sluice::bench {
namespace {

int64_t NumberIn(const std::string& file) {
  int64_t out = 0;
  const absl::StatusOr<std::string> text = ReadFile(file);
  return text.ok() && absl::SimpleAtoi(*text, &out) ? out : 0;
}

}  // namespace

absl::StatusOr<Death> DeathOf(const std::string& text) {
  const std::vector<std::string> parts = absl::StrSplit(text, ':');
  Death out;
  if (parts.size() != 3 || !absl::SimpleAtoi(parts[1], &out.at))
    return absl::InvalidArgumentError(absl::StrCat("not PLACE:TIMES:VICTIM: ", text));
  out.place = parts[0];
  out.coordinator = parts[2] == "coordinator";
  return out;
}

std::string ToString(const Death& death) {
  return absl::StrCat(death.place, ":", death.at, ":", death.coordinator ? "coordinator" : "self");
}

void Deaths::Reach(const std::string& place) {
  int64_t times = 0;
  {
    absl::MutexLock lock(&mu_);
    times = ++times_[place];
  }
  for (const Death& death : plan_) {
    if (death.place != place || death.at != times) continue;
    const std::string file = absl::StrCat(folder_, "/", ToString(death), ".done");
    const int made = open(file.c_str(), O_CREAT | O_EXCL | O_WRONLY | O_CLOEXEC, 0644);
    if (made < 0) continue;  // in another life
    close(made);
    const auto victim =
        death.coordinator ? static_cast<pid_t>(NumberIn(folder_ + "/coordinator.pid")) : getpid();
    if (victim > 0) kill(victim, SIGKILL);
  }
}

bool Deaths::Happened(const std::string& folder, const Death& death) {
  return FileExists(absl::StrCat(folder, "/", ToString(death), ".done"));
}

LargestMessage::LargestMessage(const std::string& folder, const std::string& name)
    : file_(absl::StrCat(folder, "/", name, ".largest")), largest_(NumberIn(file_)) {}

void LargestMessage::Saw(int64_t bytes) {
  absl::MutexLock lock(&mu_);
  if (bytes <= largest_) return;
  largest_ = bytes;
  if (!WriteFileAtomically(file_, absl::StrCat(bytes)).ok()) std::abort();
}

}  // namespace sluice::bench
