// A process's orderly stop: takes SIGTERM and SIGINT for the whole process, from the first line of main on.
// The first asks for the stop; when its time has run out the process ends, with a line of log that says what
// it waited for. SIGINT during a stop ends it at once. Thread-safe.
#pragma once

#include <functional>
#include <string>
#include <thread>

#include "absl/base/thread_annotations.h"
#include "absl/synchronization/mutex.h"
#include "absl/time/time.h"

namespace sluice {

// Blocks SIGTERM and SIGINT in this thread and those it starts, and ignores SIGPIPE; call it first in main so
// that StopControl gets them.
void BlockStopSignals();

class StopControl {
 public:
  static constexpr int kTimedOut = 1, kInterrupted = 130;  // exit codes

  explicit StopControl(absl::Duration limit);
  ~StopControl();  // the stop is over
  StopControl(const StopControl&) = delete;
  StopControl& operator=(const StopControl&) = delete;

  // Called once, on a thread of its own, when a signal asks for the stop; at once when one did; not after
  // Begin. Must be short.
  void OnRequest(std::function<void()> on_request);
  // The stop's time runs from the first signal, or from here.
  void Begin();
  // Of a stop under way that needs longer for a reason, in proportion to it: the limit is so much later, and
  // `report_path` (when there is one) says so to whoever would kill the process: {"pid", "until" (unix
  // seconds), "waiting_for"}. Nothing before the stop.
  void Extend(absl::Duration by);
  void ReportExtensionsTo(std::string path);  // before the stop
  // When the process ends whatever it does; InfiniteFuture before the stop.
  absl::Time deadline() const;
  // For the log, until the next call.
  void WaitingFor(std::string what);

 private:
  void Watch();
  void Requested(const char* signal);
  void CallOnRequest();
  void TimedOut();
  int TimeoutMillis() const;
  void Wake() const;

  const absl::Duration limit_;
  const int wake_;  // eventfd
  mutable absl::Mutex mu_;
  bool over_ ABSL_GUARDED_BY(mu_) = false;
  bool requested_ ABSL_GUARDED_BY(mu_) = false;
  absl::Time deadline_ ABSL_GUARDED_BY(mu_) = absl::InfiniteFuture();
  absl::Duration extended_ ABSL_GUARDED_BY(mu_);
  std::string report_path_ ABSL_GUARDED_BY(mu_);
  std::string waiting_for_ ABSL_GUARDED_BY(mu_) = "the process to start";
  std::function<void()> on_request_ ABSL_GUARDED_BY(mu_);
  std::thread thread_;
};

}  // namespace sluice
