// Where progress is shown: a panel redrawn in place on a terminal, one line for each change elsewhere.
#pragma once

#include <ostream>
#include <string>

#include "services/cli/panel.h"

namespace sluice::cli {

class Screen {
 public:
  enum class Kind { kPanel, kLines };
  // kPanel when the file descriptor is a terminal that understands cursor movements.
  static Kind KindOf(int fd);

  Screen(std::ostream& out, Kind kind) : out_(out), kind_(kind) {}
  void Show(const v1::WatchJobResponse& state, const StepHistory& history);

 private:
  void Redraw(const std::string& panel);

  std::ostream& out_;
  Kind kind_;
  std::string last_;  // line or panel
  int lines_ = 0;     // of the panel on the screen
};

}  // namespace sluice::cli
