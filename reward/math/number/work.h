// What one decision may still cost. Deterministic: verdicts do not depend on the machine's load.
#pragma once

#include <cstdint>

namespace sluice::math {

// Not thread-safe. Once a limit is exceeded every operation that is charged returns at once with some value,
// so callers check ok() where they use a result.
class Work {
 public:
  // A unit is about ten nanoseconds.
  static constexpr int64_t kDefaultUnits = 1'600'000;
  explicit Work(int64_t units = kDefaultUnits) : left_(units) {}

  bool Spend(int64_t units) {
    left_ -= units;
    if (left_ < 0) Exceed("work");
    return ok();
  }
  // Names a limit: "digits", "terms", ...; the first one is kept.
  void Exceed(const char* limit) {
    if (limit_ == nullptr) limit_ = limit;
  }
  bool ok() const { return limit_ == nullptr; }
  const char* limit() const { return limit_ == nullptr ? "" : limit_; }
  int64_t left() const { return left_; }
  // Another way may be tried with what is left.
  void Forgive() {
    if (left_ >= 0) limit_ = nullptr;
  }

 private:
  int64_t left_;
  const char* limit_ = nullptr;
};

}  // namespace sluice::math
