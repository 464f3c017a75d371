#include "rollout/oracle_check.h"
#include "rollout/testing_model.h"

namespace sluice {
namespace {

class EngineOracle : public OracleTest {};

TEST_F(EngineOracle, ScoresAndGreedyCompletionsEqualTransformers) {
  EngineOptions options = testing_model::Options();
  options.prefill_chunk_tokens = 37;
  CheckFolders(options);
}

}  // namespace
}  // namespace sluice
