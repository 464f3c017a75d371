// A box whose runs end when nobody waits for their judgement any more. Not thread-safe.
#pragma once

#include <memory>
#include <string>

#include "reward/item_scorer.h"
#include "reward/sandbox/sandbox.h"

namespace sluice {

class TimedBox final : public SandboxBox {
 public:
  // Both outlive it.
  TimedBox(SandboxBox& box, const JudgeLimits& limits) : box_(box), limits_(limits) {}

  absl::Status WriteFile(absl::string_view name, absl::string_view content, bool executable) override {
    return box_.WriteFile(name, content, executable);
  }
  absl::StatusOr<std::string> ReadFile(absl::string_view name, int64_t max_bytes) override {
    return box_.ReadFile(name, max_bytes);
  }
  // The run's wall time ends at the deadline at the latest, and cancelling kills it. DEADLINE_EXCEEDED,
  // CANCELLED: it is too late to start.
  absl::StatusOr<std::unique_ptr<SandboxRun>> Start(const RunRequest& request) override;

 private:
  SandboxBox& box_;
  const JudgeLimits& limits_;
};

// DEADLINE_EXCEEDED or CANCELLED where there is no time left.
absl::Status TimeIsLeft(const JudgeLimits& limits);

}  // namespace sluice
