#include "services/cli/screen.h"

#include <sys/ioctl.h>
#include <unistd.h>

#include <algorithm>
#include <cstdlib>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_replace.h"
#include "absl/strings/string_view.h"

namespace sluice::cli {
namespace {

constexpr int kDefaultWidth = 100;

int TerminalWidth() {
  winsize size{};
  return ioctl(STDOUT_FILENO, TIOCGWINSZ, &size) == 0 && size.ws_col > 20 ? size.ws_col : kDefaultWidth;
}

}  // namespace

Screen::Kind Screen::KindOf(int fd) {
  const char* term = std::getenv("TERM");
  return isatty(fd) && term != nullptr && absl::string_view(term) != "dumb" ? Kind::kPanel : Kind::kLines;
}

void Screen::Show(const v1::WatchJobResponse& state, const StepHistory& history) {
  const std::string text =
      kind_ == Kind::kPanel ? RenderPanel(state, history, TerminalWidth()) : RenderLine(state.job());
  if (text == last_) return;
  last_ = text;
  if (kind_ == Kind::kPanel) {
    Redraw(text);
  } else {
    out_ << text << std::endl;
  }
}

void Screen::Redraw(const std::string& panel) {
  // Up to the panel's first line, each line cleared to its end, what is left below cleared.
  if (lines_ > 0) out_ << "\033[" << lines_ << "F";
  out_ << absl::StrReplaceAll(panel, {{"\n", "\033[K\n"}}) << "\033[J" << std::flush;
  lines_ = static_cast<int>(std::count(panel.begin(), panel.end(), '\n'));
}

}  // namespace sluice::cli
