// Gradients of the oracle's checkpoints: d(mean NLL of s33)/dW within 1e-4 relative L2, in float32. Reads the
// folders <preset> of SLUICE_ORACLE_DIR (see the oracle's make_reference.py).
#include <cmath>
#include <cstdlib>

#include "core/base/file.h"
#include "core/spec/checkpoint/checkpoint_dir.h"
#include "gtest/gtest.h"
#include "learner/policy.h"
#include "learner/score.h"

namespace sluice::learner {
namespace {

class OracleGradientTest : public testing::TestWithParam<const char*> {
 protected:
  void SetUp() override {
    const char* root = std::getenv("SLUICE_ORACLE_DIR");
    if (root == nullptr) GTEST_SKIP() << "SLUICE_ORACLE_DIR is not set";
    folder_ = std::string(root) + "/" + GetParam();
    if (!FileExists(folder_ + "/reference.safetensors"))
      GTEST_SKIP() << folder_ << " has no reference.safetensors";
    auto reference = ReadSafetensors(folder_ + "/reference.safetensors");
    ASSERT_TRUE(reference.ok()) << reference.status();
    reference_ = *std::move(reference);
    for (int64_t t : Integers("tokens.s33")) tokens_.push_back(static_cast<int32_t>(t));
  }
  std::vector<int64_t> Integers(const std::string& name) {
    const auto* data = reinterpret_cast<const int64_t*>(reference_.at(name).bytes->data());
    return {data, data + reference_.at(name).elements()};
  }
  std::vector<double> Doubles(const std::string& name) {
    const HostTensor& t = reference_.at(name);
    if (t.dtype == DType::kF32) return {t.f32(), t.f32() + t.elements()};
    const auto* data = reinterpret_cast<const double*>(t.bytes->data());
    return {data, data + t.elements()};
  }

  std::string folder_;
  TensorMap reference_;
  std::vector<int32_t> tokens_;
};

double Norm(const std::vector<double>& v) {
  double sum = 0;
  for (double x : v) sum += x * x;
  return std::sqrt(sum);
}

double Distance(std::vector<double> a, const std::vector<double>& b) {
  for (size_t i = 0; i < a.size(); ++i) a[i] -= b[i];
  return Norm(a);
}

TEST_P(OracleGradientTest, GradientOfMeanNllIsWithinTolerance) {
  auto model = ReadModelDirectory(folder_);
  ASSERT_TRUE(model.ok()) << model.status();
  const ParameterLayout layout(model->config);
  Policy policy(model->config, DType::kF32, layout.Flatten(layout.frozen(), model->tensors).value(), nullptr);
  ASSERT_TRUE(policy.SetPublished(layout.Flatten(layout.trained(), model->tensors).value()).ok());
  const absl::Span<const int32_t> tokens = tokens_;
  const PackGroup group{tokens.subspan(0, 1), {{tokens.subspan(1), 0}}};
  auto batch = std::make_shared<const PackedBatch>(Pack({group}));
  double loss = 0;
  const double count = static_cast<double>(batch->targets.size());
  policy.Accumulate(batch, 1.0f, [&](size_t, const TargetScore& score) {
    loss -= score.raw_logprob / count;
    return TargetGradient{-1 / count, 0};
  });
  EXPECT_NEAR(loss, Doubles("grad_loss")[0], 2e-5);
  for (const ParameterSlot& slot : layout.trained()) {
    const float* data = policy.gradient().data() + slot.offset;
    const std::vector<double> mine(data, data + slot.size);
    const double norm = Doubles("grad_norm." + slot.name)[0];
    if (norm == 0) {
      EXPECT_EQ(Norm(mine), 0) << slot.name;
      continue;
    }
    EXPECT_NEAR(Norm(mine) / norm, 1, 1e-4) << slot.name;
    if (reference_.count("grad." + slot.name) > 0) {
      EXPECT_LT(Distance(mine, Doubles("grad." + slot.name)) / norm, 1e-4) << slot.name;
      continue;
    }
    std::vector<double> chosen;
    for (int64_t i : Integers("grad_idx." + slot.name)) chosen.push_back(mine[i]);
    const std::vector<double> expected = Doubles("grad_val." + slot.name);
    EXPECT_LT(Distance(chosen, expected) / Norm(expected), 1e-4) << slot.name;
  }
}

TEST_P(OracleGradientTest, ScoreTokensIsWithinTolerance) {
  auto scores = ScoreTokens(folder_, ModelDtype::kF32, tokens_);
  ASSERT_TRUE(scores.ok()) << scores.status();
  const std::vector<double> expected = Doubles("logprobs.s33");
  ASSERT_EQ(scores->size(), expected.size());
  for (size_t i = 0; i < expected.size(); ++i) EXPECT_NEAR((*scores)[i], expected[i], 2e-4);
}

INSTANTIATE_TEST_SUITE_P(Presets, OracleGradientTest,
                         testing::Values("mla-dense", "v2-lite", "v2", "v3", "moonlight", "kimi-k2",
                                         "glm4-moe-lite", "llama", "llama-3", "gpt-mha", "qwen2",
                                         "qwen2-yarn", "qwen3"),
                         [](const auto& info) {
                           std::string name = info.param;
                           for (char& c : name) {
                             if (c == '-') c = '_';
                           }
                           return name;
                         });

}  // namespace
}  // namespace sluice::learner
