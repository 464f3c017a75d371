// Lines that a person types, or that come through a pipe, with Ctrl-C as an event instead of the end of the
// process. One per process; for one thread.
#pragma once

#include <optional>
#include <string>

#include "absl/functional/function_ref.h"
#include "core/base/cancellation.h"

namespace sluice::cli {

class TerminalInput {
 public:
  // Takes SIGINT and SIGTERM over: to be made before any other thread is started.
  explicit TerminalInput(int fd);
  ~TerminalInput();
  TerminalInput(const TerminalInput&) = delete;
  TerminalInput& operator=(const TerminalInput&) = delete;

  // The next line without its end. Nothing at the end of the input, at Ctrl-C and after Leave.
  std::optional<std::string> ReadLine();
  // Runs `body` while Ctrl-C raises its token; a second one, or SIGTERM, also makes this the last line.
  void RunInterruptible(absl::FunctionRef<void(const CancelToken&)> body);

 private:
  // The number of the signal that came, 0: none.
  int TakeSignal();

  const int fd_;
  int signals_ = -1;  // signalfd
  std::string buffer_;
  bool ended_ = false, left_ = false;
};

}  // namespace sluice::cli
