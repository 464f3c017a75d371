#include "services/reward/code_service.h"

#include <algorithm>
#include <utility>

#include "absl/strings/str_cat.h"
#include "core/base/log.h"
#include "core/base/status.h"
#include "prometheus/gauge.h"

namespace sluice {
namespace {

constexpr char kWeaker[] =
    "; or start sluice-reward with --allow-weaker-sandbox, which is stamped on each verdict";

void Publish(const std::vector<SandboxProperty>& properties, prometheus::Registry& metrics) {
  auto& family = prometheus::BuildGauge()
                     .Name("sluice_sandbox_property")
                     .Help("Whether a property of the sandbox held when the service started.")
                     .Register(metrics);
  for (const SandboxProperty& p : properties) family.Add({{"property", p.name}}).Set(p.holds ? 1 : 0);
}

}  // namespace

absl::StatusOr<std::unique_ptr<CodeService>> CodeService::Create(CodeServiceOptions options,
                                                                 prometheus::Registry& metrics) {
  std::unique_ptr<CodeService> service(new CodeService());
  if (options.use == SandboxUse::kOff) {
    service->refusal_ = "programs are not judged here: sluice-reward was started with --sandbox off";
    return service;
  }
  const absl::Status opened = service->Open(options);
  Publish(service->properties_, metrics);
  if (opened.ok()) {
    LogInfo("sandbox_ready", {{"properties", service->properties_.size()},
                              {"missing", MissingProperties(service->properties_, "; ")}});
    return service;
  }
  if (options.use == SandboxUse::kOn) return opened;
  service->refusal_ =
      absl::StrCat("programs are not judged here, for the sandbox does not work: ", opened.message());
  LogWarning("sandbox_refused", {{"why", opened.message()}});
  return service;
}

// The sandbox is asked for with whatever holds, so that all properties can be published; then it is kept or
// not.
absl::Status CodeService::Open(const CodeServiceOptions& options) {
  SandboxOptions weaker = options.sandbox;
  weaker.allow_weaker = true;
  AddCodeHarness(weaker);
  SLUICE_ASSIGN_OR_RETURN(std::unique_ptr<Sandbox> sandbox, Sandbox::Create(weaker));
  properties_ = sandbox->properties();
  const std::string missing = MissingProperties(properties_, "; ");
  if (!missing.empty() && !options.sandbox.allow_weaker)
    return absl::FailedPreconditionError(absl::StrCat(missing, kWeaker));
  SLUICE_ASSIGN_OR_RETURN(runner_, MakeCodeRunner(*sandbox, options.scorer));
  sandbox_ = std::move(sandbox);
  return absl::OkStatus();
}

ScorerRegistry::Factory CodeService::Factory() const {
  if (available()) return CodeScorerFactory(runner_);
  return [why = refusal_](const ScorerSpec&) -> absl::StatusOr<std::unique_ptr<ItemScorer>> {
    return absl::FailedPreconditionError(why);
  };
}

}  // namespace sluice
