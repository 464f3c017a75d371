#include "services/reward/build.h"

#include <algorithm>
#include <map>
#include <set>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "CLI/CLI.hpp"
#include "absl/strings/str_cat.h"
#include "core/base/status.h"
#include "reward/auditor.h"
#include "reward/canary.h"
#include "reward/composite_scorer.h"
#include "reward/math_scorer.h"
#include "reward/remote_batch_scorer.h"
#include "services/clients/remote_scorer.h"
#include "services/reward/code_service.h"
#include "services/servers/reward_adapter.h"

namespace sluice {
namespace {

using Services = std::map<std::string, std::shared_ptr<Scorer>>;

int Boxes(const RewardFlags& flags) {
  if (flags.boxes > 0) return flags.boxes;
  return 2 * std::max(1, static_cast<int>(std::thread::hardware_concurrency()));
}

absl::StatusOr<Services> ConnectServices(const std::vector<std::string>& scorers) {
  Services out;
  for (const std::string& scorer : scorers) {
    const size_t equals = scorer.find('=');
    const std::string name = scorer.substr(0, equals);
    if (equals == std::string::npos || name.empty() || equals + 1 == scorer.size()) {
      return absl::InvalidArgumentError(
          absl::StrCat("--scorer ", scorer, ": must be NAME=HOST:PORT, for example judge=127.0.0.1:7000"));
    }
    absl::StatusOr<Peer> peer = Connect(scorer.substr(equals + 1));
    if (!peer.ok()) return Annotate(peer.status(), absl::StrCat("--scorer ", scorer));
    if (!out.emplace(name, std::make_shared<RemoteScorer>(*std::move(peer))).second)
      return absl::InvalidArgumentError(absl::StrCat("--scorer ", scorer, ": ", name, " is given twice"));
  }
  return out;
}

CodeServiceOptions CodeOptions(const RewardFlags& flags, const Host& host) {
  CodeServiceOptions out;
  out.use = flags.sandbox == "on"    ? SandboxUse::kOn
            : flags.sandbox == "off" ? SandboxUse::kOff
                                     : SandboxUse::kAuto;
  out.sandbox.allow_weaker = flags.allow_weaker_sandbox;
  out.sandbox.python = flags.python;
  out.sandbox.compiler = flags.compiler;
  out.sandbox.max_boxes = Boxes(flags);
  out.scorer.compiler = flags.compiler;
  out.scorer.max_items = std::max(1, Boxes(flags) / 2);
  const std::string& folder = flags.cache.empty() ? host.options().state_dir : flags.cache;
  if (!folder.empty()) {
    out.sandbox.state_directory = absl::StrCat(folder, "/sandbox");
    out.scorer.cache_directory = absl::StrCat(folder, "/compiled");
  }
  return out;
}

absl::StatusOr<ScorerRegistry> MakeRegistry(const CodeService& code, const Services& services) {
  ScorerRegistry registry = ScorerRegistry::Builtin();
  SLUICE_RETURN_IF_ERROR(registry.Register("code", code.Factory()));
  SLUICE_RETURN_IF_ERROR(registry.RegisterBatch("remote", RemoteScorerFactory(services)));
  return registry;
}

// Mathematics without leniency, programs in a fresh box.
absl::StatusOr<ScorerRegistry> MakeAuditRegistry(const CodeService& code) {
  ScorerRegistry registry;
  SLUICE_RETURN_IF_ERROR(
      registry.Register("math", [](const ScorerSpec& spec) -> absl::StatusOr<std::unique_ptr<ItemScorer>> {
        math::EquivalenceOptions options;
        options.strict = true;
        return std::make_unique<MathItemScorer>(std::get<MathScorerSpec>(spec), options);
      }));
  if (code.available()) SLUICE_RETURN_IF_ERROR(registry.Register("code", code.Factory()));
  return registry;
}

CompositeScorerOptions ScorerOptions(const RewardFlags& flags, const Services& services) {
  CompositeScorerOptions out;
  const absl::Duration item_timeout = absl::Seconds(flags.item_timeout);
  out.compute = {flags.threads, absl::Seconds(flags.compute_timeout)};
  out.max_items = static_cast<size_t>(flags.max_items);
  out.lanes["code"] = {std::max(1, Boxes(flags) / 2), item_timeout};
  for (const auto& [name, service] : services)
    out.lanes[absl::StrCat("remote:", name)] = {flags.scorer_concurrency, item_timeout};
  return out;
}

v1::GetInfoResponse InfoOf(const ScorerRegistry& registry, const Services& services,
                           const CodeService& code) {
  v1::GetInfoResponse out;
  for (const std::string& name : registry.names()) {
    if (name != "code" || code.available()) out.add_scorers(name);
  }
  for (const auto& [name, service] : services) out.add_services(name);
  for (const SandboxProperty& p : code.properties()) {
    v1::SandboxProperty* proto = out.add_sandbox();
    proto->set_name(p.name);
    proto->set_holds(p.holds);
    proto->set_remedy(p.remedy);
  }
  out.set_code_refused(code.refusal());
  return out;
}

std::vector<Canary> CanariesOf(const CodeService& code) {
  std::vector<Canary> out = MathCanaries();
  if (code.available()) {
    for (Canary& canary : CodeCanaries()) out.push_back(std::move(canary));
  }
  return out;
}

struct RewardParts {
  std::unique_ptr<CodeService> code;
  ScorerRegistry registry, audit_registry;
  CompositeScorerOptions scorer;
  CanaryOptions canary;
  AuditorOptions audit;
  v1::GetInfoResponse info;
};

// Members in the order in which one uses another; they end in the reverse order.
class RewardRole final : public HostedRole {
 public:
  RewardRole(RewardParts parts, Host& host)
      : code_(std::move(parts.code)),
        auditor_(std::move(parts.audit_registry), parts.audit, host.registry()),
        scorer_(std::move(parts.registry), Observed(std::move(parts.scorer)), host.registry()),
        canaries_(CanariesOf(*code_), parts.canary, JudgeCanary(), host.registry()),
        adapter_(scorer_, host.executor(), std::move(parts.info)) {}
  std::vector<grpc::Service*> Services() override { return {&adapter_}; }

 private:
  // The first verdict comes when the role is made.
  CompositeScorerOptions Observed(CompositeScorerOptions options) {
    options.observer = [this](const RewardSpec& spec, const ScoreItem& item, const Verdict& verdict) {
      auditor_.Observe(spec, item, verdict);
      canaries_.CountItem();
    };
    return options;
  }
  CanaryProbe::Judge JudgeCanary() {
    return [this](const RewardSpec& spec, absl::Span<const ScoreItem> items, absl::Time deadline,
                  const CancelToken& cancel) {
      return scorer_.ScoreInBackground(spec, items, deadline, cancel);
    };
  }

  const std::unique_ptr<CodeService> code_;
  Auditor auditor_;
  CompositeScorer scorer_;
  CanaryProbe canaries_;
  RewardAdapter adapter_;
};

void AddSandboxFlags(CLI::App& app, RewardFlags& flags) {
  app.add_option(
         "--sandbox", flags.sandbox,
         "auto: programs are judged where every property of the sandbox holds; on: the service does not "
         "start without; off: programs are refused")
      ->check(CLI::IsMember({"auto", "on", "off"}))
      ->capture_default_str();
  app.add_flag("--allow-weaker-sandbox", flags.allow_weaker_sandbox,
               "Run programs although the sandbox lacks properties; each verdict is stamped with them");
  app.add_option("--python", flags.python, "The interpreter of programs")->capture_default_str();
  app.add_option("--compiler", flags.compiler, "The compiler of C++ programs")->capture_default_str();
  app.add_option("--cache", flags.cache,
                 "Folder of precompiled headers and compiled programs; several services may share it "
                 "(default: in --state)");
  app.add_option("--boxes", flags.boxes, "Sandboxes at once, two for each program; 0: two for each processor")
      ->check(CLI::Range(0, 1024))
      ->capture_default_str();
}

}  // namespace

void RewardFlags::Add(CLI::App& app) {
  app.add_option("--threads", threads, "Threads that judge what is only computed")
      ->check(CLI::Range(1, 1024))
      ->capture_default_str();
  app.add_option("--max-items", max_items, "Items of all calls under way; a call beyond them is refused")
      ->check(CLI::Range(int64_t{1}, int64_t{1} << 24))
      ->capture_default_str();
  app.add_option("--compute-timeout", compute_timeout, "Seconds for an item of what is only computed")
      ->check(CLI::Range(1, 3600))
      ->capture_default_str();
  app.add_option("--item-timeout", item_timeout, "Seconds for an item of code, or a batch of another service")
      ->check(CLI::Range(1, 86400))
      ->capture_default_str();
  AddSandboxFlags(app, *this);
  app.add_option("--scorer", scorers, "NAME=HOST:PORT of another reward service, for components \"remote\"")
      ->take_all();
  app.add_option("--scorer-concurrency", scorer_concurrency, "Calls at once to each other service")
      ->check(CLI::Range(1, 1024))
      ->capture_default_str();
  app.add_option("--canary-every", canary_every, "Items between runs of the canaries; 0: none")
      ->check(CLI::Range(int64_t{0}, int64_t{1} << 40))
      ->capture_default_str();
  app.add_option("--audit-share", audit_share, "Share of verdicts that a second, stricter verifier judges")
      ->check(CLI::Range(0.0, 1.0))
      ->capture_default_str();
}

absl::StatusOr<std::unique_ptr<HostedRole>> BuildReward(const RewardFlags& flags, Host& host) {
  SLUICE_ASSIGN_OR_RETURN(const Services services, ConnectServices(flags.scorers));
  RewardParts parts;
  SLUICE_ASSIGN_OR_RETURN(parts.code, CodeService::Create(CodeOptions(flags, host), host.registry()));
  SLUICE_ASSIGN_OR_RETURN(parts.registry, MakeRegistry(*parts.code, services));
  SLUICE_ASSIGN_OR_RETURN(parts.audit_registry, MakeAuditRegistry(*parts.code));
  parts.scorer = ScorerOptions(flags, services);
  parts.canary.every_items = flags.canary_every;
  parts.audit.share = flags.audit_share;
  parts.info = InfoOf(parts.registry, services, *parts.code);
  return std::make_unique<RewardRole>(std::move(parts), host);
}

}  // namespace sluice
