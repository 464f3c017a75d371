// A flag that one side raises and any number of sides watch. Copies share the flag. Thread-safe.
#pragma once

#include <atomic>
#include <memory>

namespace sluice {

class CancelToken {
 public:
  CancelToken() : flag_(std::make_shared<std::atomic<bool>>(false)) {}
  void Cancel() const { flag_->store(true, std::memory_order_release); }
  bool cancelled() const { return flag_->load(std::memory_order_acquire); }

 private:
  std::shared_ptr<std::atomic<bool>> flag_;  // shared: every copy is the same flag
};

}  // namespace sluice
