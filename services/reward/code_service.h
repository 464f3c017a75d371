// The sandbox of a reward service and the code scorer that runs in it, or why programs are refused.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "prometheus/registry.h"
#include "reward/code/code_scorer.h"
#include "reward/sandbox/sandbox.h"
#include "reward/scorer_registry.h"

namespace sluice {

// "auto": programs are judged where every property of the sandbox holds and are refused otherwise; "on": the
// service does not start without; "off": they are refused.
enum class SandboxUse { kAuto, kOn, kOff };

struct CodeServiceOptions {
  SandboxUse use = SandboxUse::kAuto;
  SandboxOptions sandbox;  // allow_weaker: properties may be missing
  CodeScorerOptions scorer;
};

class CodeService {
 public:
  // FAILED_PRECONDITION, with `use` kOn: the sandbox or some property cannot be had; the message says how to
  // get it. Publishes the gauge sluice_sandbox_property{property}, 1 or 0.
  static absl::StatusOr<std::unique_ptr<CodeService>> Create(CodeServiceOptions options,
                                                             prometheus::Registry& metrics);

  // "code": judges, or refuses with FAILED_PRECONDITION.
  ScorerRegistry::Factory Factory() const;
  bool available() const { return refusal_.empty(); }
  const std::string& refusal() const { return refusal_; }
  const std::vector<SandboxProperty>& properties() const { return properties_; }

 private:
  CodeService() = default;
  absl::Status Open(const CodeServiceOptions& options);

  std::vector<SandboxProperty> properties_;
  std::string refusal_;
  std::unique_ptr<Sandbox> sandbox_;
  std::shared_ptr<CodeRunner> runner_;  // shared with the scorers of calls; before sandbox_, which it borrows
};

}  // namespace sluice
