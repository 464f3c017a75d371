// A candidate's box as judges use it: each run finds the files that were written here and no others, whatever
// an earlier one has left or changed, and ends when nobody waits for its judgement any more. Not thread-safe.
#pragma once

#include <map>
#include <memory>
#include <string>

#include "reward/item_scorer.h"
#include "reward/sandbox/sandbox.h"

namespace sluice {

class TimedBox final : public SandboxBox {
 public:
  // Both outlive it.
  TimedBox(SandboxBox& box, const JudgeLimits& limits) : box_(box), limits_(limits) {}

  absl::Status WriteFile(absl::string_view name, absl::string_view content, bool executable) override;
  // As the last run left it.
  absl::StatusOr<std::string> ReadFile(absl::string_view name, int64_t max_bytes) override {
    return box_.ReadFile(name, max_bytes);
  }
  absl::Status Clear() override;
  // The run's wall time ends at the deadline at the latest, and cancelling kills it. DEADLINE_EXCEEDED,
  // CANCELLED: it is too late to start.
  absl::StatusOr<std::unique_ptr<SandboxRun>> Start(const RunRequest& request) override;

 private:
  struct Written {
    std::string content;
    bool executable;
  };

  SandboxBox& box_;
  const JudgeLimits& limits_;
  std::map<std::string, Written> files_;  // by name
  bool used_ = false;                     // a run has been in the box since it was clean
};

// DEADLINE_EXCEEDED or CANCELLED where there is no time left.
absl::Status TimeIsLeft(const JudgeLimits& limits);

}  // namespace sluice
