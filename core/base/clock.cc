#include "core/base/clock.h"

namespace sluice {
namespace {
class RealClock final : public Clock {
 public:
  absl::Time Now() const override { return absl::Now(); }
};
}  // namespace

Clock& Clock::Real() {
  static RealClock* const clock = new RealClock;
  return *clock;
}

}  // namespace sluice
