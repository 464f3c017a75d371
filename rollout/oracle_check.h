// For tests: an engine against transformers (float64), for checkpoints and reference values in the folders of
// $SLUICE_ORACLE_DIR.
#pragma once

#include <cstdint>
#include <cstdlib>
#include <filesystem>
#include <iostream>
#include <string>
#include <vector>

#include "core/base/file.h"
#include "core/spec/checkpoint/checkpoint_dir.h"
#include "core/spec/config/model_config.h"
#include "gtest/gtest.h"
#include "rollout/testing_model.h"

namespace sluice {

class OracleTest : public ::testing::Test {
 protected:
  void SetUp() override {
    const char* root = std::getenv("SLUICE_ORACLE_DIR");
    if (root == nullptr) {
      GTEST_SKIP()
          << "SLUICE_ORACLE_DIR is not set: it must name a folder of checkpoints with reference values";
    }
    for (const auto& entry : std::filesystem::directory_iterator(root)) {
      if (!std::filesystem::exists(entry.path() / "reference.safetensors")) continue;
      const absl::StatusOr<std::string> config = ReadFile((entry.path() / "config.json").string());
      ASSERT_TRUE(config.ok()) << config.status();
      const absl::StatusOr<ModelConfig> parsed = ParseModelConfig(*config);
      if (parsed.ok()) folders_.push_back(entry.path().string());
      if (!parsed.ok()) std::cout << "left out: " << entry.path() << ": " << parsed.status() << "\n";
    }
    if (folders_.empty())
      GTEST_SKIP() << root << " has no folder with a supported model and its reference.safetensors";
  }

  // Scores and greedy completions of every folder, by an engine with these options.
  void CheckFolders(const EngineOptions& options) const {
    for (const std::string& folder : folders_) {
      SCOPED_TRACE(folder);
      Check(folder, options);
    }
  }

 private:
  static std::vector<int32_t> Ids(const HostTensor& tensor) {
    const auto* values = reinterpret_cast<const int64_t*>(tensor.bytes->data());
    return std::vector<int32_t>(values, values + tensor.elements());
  }
  static void Check(const std::string& folder, const EngineOptions& options) {
    testing_model::TestEngine engine(options);
    // The reference is float64 on the values of the checkpoint, so matrices are not rounded further.
    const absl::Status status = engine->LoadDirectory(folder, DType::kF32);
    ASSERT_TRUE(status.ok()) << status;
    const absl::StatusOr<TensorMap> reference = ReadSafetensors(folder + "/reference.safetensors");
    ASSERT_TRUE(reference.ok()) << reference.status();
    int compared = 0;
    for (const auto& [name, tensor] : *reference) {
      if (name.rfind("logprobs.", 0) == 0) {
        CheckScores(engine, Ids(reference->at("tokens." + name.substr(9))), tensor);
        ++compared;
      } else if (name.rfind("greedy.", 0) == 0 && name.size() > 7 &&
                 name.substr(name.size() - 7) == ".prompt") {
        CheckGreedy(engine, Ids(tensor), Ids(reference->at(name.substr(0, name.size() - 7) + ".tokens")));
        ++compared;
      }
    }
    EXPECT_GT(compared, 0);
  }
  // 1e-4: float32 against float64 over four layers; transformers' own float32 differs by up to 2e-5.
  static void CheckScores(testing_model::TestEngine& engine, const std::vector<int32_t>& tokens,
                          const HostTensor& want) {
    const absl::StatusOr<TokenScores> scores = engine->ScoreTokens("local", tokens);
    ASSERT_TRUE(scores.ok()) << scores.status();
    ASSERT_EQ(static_cast<int64_t>(scores->logprobs.size()), want.elements());
    const auto* values = reinterpret_cast<const double*>(want.bytes->data());
    for (size_t i = 0; i < scores->logprobs.size(); ++i)
      EXPECT_NEAR(scores->logprobs[i], values[i], 1e-4) << i;
  }
  static void CheckGreedy(testing_model::TestEngine& engine, const std::vector<int32_t>& prompt,
                          const std::vector<int32_t>& want) {
    RolloutRequest request = testing_model::Request(0, 1, 1, static_cast<int32_t>(want.size()));
    request.job = "local";
    request.prompt_tokens = prompt;
    request.sampling.temperature = 0;
    const auto samples = engine.Sample(request);
    ASSERT_TRUE(samples.ok()) << samples.status();
    EXPECT_EQ(samples->at(0).tokens, want);
  }

  std::vector<std::string> folders_;
};

}  // namespace sluice
