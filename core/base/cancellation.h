// A flag that one side raises and any number of sides watch. Copies share the flag. Thread-safe.
#pragma once

#include <stop_token>

namespace sluice {

class CancelToken {
 public:
  void Cancel() const { source_.request_stop(); }
  bool cancelled() const { return source_.stop_requested(); }
  // For std::stop_callback: runs something in the thread that cancels, at once.
  std::stop_token stop_token() const { return source_.get_token(); }

 private:
  mutable std::stop_source source_;  // every copy refers to the same state
};

}  // namespace sluice
