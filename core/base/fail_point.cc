#include "core/base/fail_point.h"

#include <fcntl.h>
#include <signal.h>
#include <unistd.h>

#include <cerrno>
#include <cstdio>
#include <cstdlib>

#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "absl/strings/strip.h"
#include "absl/time/clock.h"
#include "core/base/status.h"

namespace sluice {
namespace {

struct Settings {
  std::string folder;  // empty: nothing happens
  std::vector<FailAction> actions;
};

[[noreturn]] void Refuse(const std::string& why) {
  std::fprintf(stderr, "fail points: %s\n", why.c_str());
  std::abort();
}

std::string Environment(const char* name) {
  const char* value = getenv(name);
  return value == nullptr ? "" : value;
}

const Settings& TheSettings() {
  static const Settings* const settings = [] {
    auto made = new Settings{Environment("SLUICE_FAIL_POINT_DIR"), {}};
    auto actions = ParseFailActions(Environment("SLUICE_FAIL_POINTS"));
    if (!actions.ok()) Refuse(absl::StrCat("SLUICE_FAIL_POINTS: ", actions.status().message()));
    if (!actions->empty() && made->folder.empty()) Refuse("SLUICE_FAIL_POINT_DIR is not set");
    made->actions = *std::move(actions);
    return made;
  }();
  return *settings;
}

// Whether this process is the one that made the file.
bool Mark(const std::string& path) {
  const int fd = open(path.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0644);
  if (fd < 0 && errno == EEXIST) return false;
  const std::string text = absl::StrCat(getpid(), "\n");
  if (fd < 0 || write(fd, text.data(), text.size()) < 0) Refuse(absl::StrCat("cannot write ", path));
  close(fd);
  return true;
}

void Act(const FailAction& action) {
  if (!action.kill) return absl::SleepFor(action.delay);
  kill(getpid(), SIGKILL);
  while (true) pause();
}

absl::StatusOr<FailAction> ParseAction(absl::string_view text) {
  FailAction out;
  const std::vector<absl::string_view> sides = absl::StrSplit(text, absl::MaxSplits('=', 1));
  if (sides.size() != 2 || sides[0].empty()) {
    return absl::InvalidArgumentError(absl::StrCat("\"", text, "\": write NAME=ACTION"));
  }
  out.point = std::string(sides[0]);
  const std::vector<absl::string_view> parts = absl::StrSplit(sides[1], absl::MaxSplits('@', 1));
  if (parts.size() == 2 && (!absl::SimpleAtoi(parts[1], &out.at) || out.at < 1)) {
    return absl::InvalidArgumentError(absl::StrCat("\"", text, "\": after @ stands a number from 1"));
  }
  absl::string_view action = parts[0];
  out.kill = action == "kill";
  int64_t milliseconds = 0;
  const bool delay =
      absl::ConsumePrefix(&action, "delay:") && absl::SimpleAtoi(action, &milliseconds) && milliseconds >= 0;
  out.delay = absl::Milliseconds(milliseconds);
  if (out.kill || delay) return out;
  return absl::InvalidArgumentError(
      absl::StrCat("\"", text, "\": the actions are kill and delay:MILLISECONDS"));
}

}  // namespace

absl::StatusOr<std::vector<FailAction>> ParseFailActions(absl::string_view text) {
  std::vector<FailAction> out;
  for (absl::string_view part : absl::StrSplit(text, ',', absl::SkipEmpty())) {
    SLUICE_ASSIGN_OR_RETURN(FailAction action, ParseAction(part));
    out.push_back(std::move(action));
  }
  return out;
}

void FailPoint::Reach() {
  const int64_t times = ++times_;
  const Settings& settings = TheSettings();
  if (settings.folder.empty()) return;
  if (times == 1) Mark(absl::StrCat(settings.folder, "/", name_, ".reached"));
  for (const FailAction& action : settings.actions) {
    if (action.point != name_ || action.at != times) continue;
    if (Mark(absl::StrCat(settings.folder, "/", name_, ".done"))) Act(action);
  }
}

}  // namespace sluice
