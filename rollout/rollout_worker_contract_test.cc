#include "tests/contract/rollout_worker_contract.h"

#include "rollout/testing_model.h"
#include "tests/fakes/fake_rollout_worker.h"

namespace sluice {
namespace {

class EngineSubject final : public RolloutWorkerSubject {
 public:
  RolloutWorker& worker() override { return *engine_; }
  PolicyRef Publish(const JobId& job, PolicyVersion version) override {
    return publisher_.Publish(job, version);
  }
  std::optional<PolicyRef> PublishCorrupt(const JobId& job, PolicyVersion version) override {
    return publisher_.PublishCorrupt(job, version);
  }
  int32_t vocab() const override { return testing_model::kVocab; }
  int64_t max_positions() const override { return testing_model::kMaxPositions; }

 private:
  testing_model::Publisher publisher_;
  testing_model::TestEngine engine_;
};

class FakeSubject final : public RolloutWorkerSubject {
 public:
  FakeSubject() : worker_(Options()) {}
  RolloutWorker& worker() override { return worker_; }
  PolicyRef Publish(const JobId& job, PolicyVersion version) override {
    return {job, version, std::string(64, static_cast<char>('a' + version % 6)), "nowhere"};
  }
  std::optional<PolicyRef> PublishCorrupt(const JobId&, PolicyVersion) override { return std::nullopt; }
  int32_t vocab() const override { return 256; }
  int64_t max_positions() const override { return 1000; }

 private:
  static FakeRolloutWorker::Options Options() {
    FakeRolloutWorker::Options options;
    options.vocab = 256;
    options.max_positions = 1000;
    return options;
  }
  FakeRolloutWorker worker_;
};

INSTANTIATE_TEST_SUITE_P(
    Rollout, RolloutWorkerContract,
    ::testing::Values(RolloutWorkerCase{"Engine", [] { return std::make_unique<EngineSubject>(); }},
                      RolloutWorkerCase{"Fake", [] { return std::make_unique<FakeSubject>(); }}),
    RolloutWorkerCaseName);

}  // namespace
}  // namespace sluice
