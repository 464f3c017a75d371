#include "services/reward/build.h"

#include <vector>

#include "reward/composite_scorer.h"
#include "services/adapters/reward_adapter.h"

namespace sluice {
namespace {

class RewardRole final : public HostedRole {
 public:
  RewardRole(const CompositeScorerOptions& options, Host& host)
      : scorer_(ScorerRegistry::Builtin(), options, host.registry()), adapter_(scorer_, host.executor()) {}
  std::vector<grpc::Service*> Services() override { return {&adapter_}; }

 private:
  CompositeScorer scorer_;
  RewardAdapter adapter_;
};

}  // namespace

void RewardFlags::Add(CLI::App& app) {
  app.add_option("--threads", threads, "Threads that judge")
      ->check(CLI::Range(1, 1024))
      ->capture_default_str();
}

absl::StatusOr<std::unique_ptr<HostedRole>> BuildReward(const RewardFlags& flags, Host& host) {
  CompositeScorerOptions options;
  options.threads = flags.threads;
  return std::make_unique<RewardRole>(options, host);
}

}  // namespace sluice
