#include "core/spec/tensors/fp8.h"

#include <cmath>
#include <filesystem>
#include <fstream>
#include <limits>
#include <string>

#include "core/base/random.h"
#include "core/spec/checkpoint/checkpoint_dir.h"
#include "core/spec/checkpoint/model_check.h"
#include "core/spec/tiny_model.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace sluice {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
namespace fs = std::filesystem;

// The code whose value is nearest, by search over all of them.
uint8_t NearestE4M3(float value) {
  int best = 0;
  for (int code = 1; code < 256; ++code) {
    const float candidate = FloatFromE4M3(static_cast<uint8_t>(code));
    if (std::isnan(candidate)) continue;
    if (std::abs(candidate - value) < std::abs(FloatFromE4M3(static_cast<uint8_t>(best)) - value))
      best = code;
  }
  return static_cast<uint8_t>(best);
}

struct Quantized {
  HostTensor matrix, scale;
};

// What a release's exporter does: each block divided by its greatest magnitude / 448.
Quantized Quantize(const HostTensor& tensor, const Fp8Blocks& blocks) {
  const std::vector<float> values = ToFloats(tensor);
  const int64_t rows = tensor.shape[0], columns = tensor.shape[1];
  const std::vector<int64_t> scale_shape = blocks.ScaleShape(tensor.shape);
  std::vector<float> scales(static_cast<size_t>(scale_shape[0] * scale_shape[1]), 1e-12f);
  const auto scale_of = [&](int64_t r, int64_t c) -> float& {
    return scales[static_cast<size_t>(r / blocks.rows * scale_shape[1] + c / blocks.columns)];
  };
  for (int64_t i = 0; i < rows * columns; ++i) {
    float& scale = scale_of(i / columns, i % columns);
    scale = std::max(scale, std::abs(values[static_cast<size_t>(i)]) / 448);
  }
  auto codes = std::make_shared<std::string>();
  for (int64_t i = 0; i < rows * columns; ++i) {
    const float value = values[static_cast<size_t>(i)] / scale_of(i / columns, i % columns);
    codes->push_back(static_cast<char>(NearestE4M3(value)));
  }
  return {{DType::kF8E4M3, tensor.shape, std::move(codes)},
          TensorFromFloats(scale_shape, scales.data(), DType::kF32)};
}

HostTensor RandomMatrix(int64_t rows, int64_t columns) {
  std::vector<float> values(static_cast<size_t>(rows * columns));
  for (size_t i = 0; i < values.size(); ++i) {
    const auto bits = static_cast<int32_t>(BitsAt(7, RandomDomain::kShuffle, i));
    values[i] = static_cast<float>(bits) * 0x1p-31f * (1 + static_cast<float>(i % 7));
  }
  return TensorFromFloats({rows, columns}, values.data(), DType::kF32);
}

TEST(E4M3, HasTheValuesOfItsDefinition) {
  EXPECT_EQ(FloatFromE4M3(0x00), 0.0f);
  EXPECT_TRUE(std::signbit(FloatFromE4M3(0x80)));
  EXPECT_EQ(FloatFromE4M3(0x01), 0x1p-9f);  // the smallest
  EXPECT_EQ(FloatFromE4M3(0x07), 7 * 0x1p-9f);
  EXPECT_EQ(FloatFromE4M3(0x08), 0x1p-6f);  // the smallest normal one
  EXPECT_EQ(FloatFromE4M3(0x38), 1.0f);
  EXPECT_EQ(FloatFromE4M3(0xBC), -1.5f);
  EXPECT_EQ(FloatFromE4M3(0x7E), 448.0f);  // the greatest
  EXPECT_TRUE(std::isnan(FloatFromE4M3(0x7F)));
  EXPECT_TRUE(std::isnan(FloatFromE4M3(0xFF)));
}

TEST(Fp8, ComesWithinHalfAStepOfWhatWasQuantized) {
  const Fp8Blocks blocks = {128, 128};
  for (const auto& [rows, columns] :
       {std::pair<int64_t, int64_t>{128, 128}, {1, 1}, {130, 257}, {127, 300}}) {
    const HostTensor original = RandomMatrix(rows, columns);
    const Quantized q = Quantize(original, blocks);
    const absl::StatusOr<HostTensor> read = Dequantize(q.matrix, q.scale, blocks, DType::kF32);
    ASSERT_TRUE(read.ok()) << read.status();
    ASSERT_EQ(read->shape, original.shape);
    const std::vector<float> want = ToFloats(original), got = ToFloats(*read), scales = ToFloats(q.scale);
    for (int64_t i = 0; i < rows * columns; ++i) {
      const int64_t block = i / columns / 128 * ((columns + 127) / 128) + i % columns / 128;
      const float w = want[static_cast<size_t>(i)];
      const float step = std::max(std::abs(w) * 0x1p-4f, scales[static_cast<size_t>(block)] * 0x1p-10f);
      EXPECT_LE(std::abs(got[static_cast<size_t>(i)] - w), step * 1.0001f)
          << rows << "x" << columns << " " << i;
    }
  }
}

TEST(Fp8, MultipliesByTheScaleOfItsBlockAndRounds) {
  const float scales[4] = {1, 2, 4, 1.0f / 3};
  const HostTensor matrix = {DType::kF8E4M3, {3, 3}, std::make_shared<std::string>(9, '\x39')};  // 1.125
  const HostTensor scale = TensorFromFloats({2, 2}, scales, DType::kF32);
  const HostTensor wide = *Dequantize(matrix, scale, {2, 2}, DType::kF32);
  EXPECT_THAT(ToFloats(wide), ElementsAre(1.125f, 1.125f, 2.25f, 1.125f, 1.125f, 2.25f, 4.5f, 4.5f, 0.375f));
  const HostTensor narrow = *Dequantize(matrix, scale, {2, 2}, DType::kBF16);
  EXPECT_EQ(narrow.dtype, DType::kBF16);
  EXPECT_EQ(narrow.bf16()[8], Bf16FromFloat(1.125f * (1.0f / 3)));
  const HostTensor brain_scale = TensorFromFloats({2, 2}, scales, DType::kBF16);
  EXPECT_EQ(ToFloats(*Dequantize(matrix, brain_scale, {2, 2}, DType::kF32))[2], 2.25f);
}

TEST(Fp8, RefusesCodesAndScalesThatAreNoNumbers) {
  for (const char nan : {'\x7f', '\xff'}) {
    std::string codes(6, '\x38');
    codes[4] = nan;
    const HostTensor matrix = {DType::kF8E4M3, {2, 3}, std::make_shared<std::string>(codes)};
    const float one = 1;
    const auto read =
        Dequantize(matrix, TensorFromFloats({1, 1}, &one, DType::kF32), {128, 128}, DType::kBF16);
    EXPECT_THAT(std::string(read.status().message()), HasSubstr("not a number at [1, 1]"));
  }
  const HostTensor matrix = {DType::kF8E4M3, {2, 3}, std::make_shared<std::string>(6, '\x38')};
  for (const float bad : {-1.0f, std::nanf(""), std::numeric_limits<float>::infinity()}) {
    const float scales[2] = {1, bad};
    const auto read = Dequantize(matrix, TensorFromFloats({1, 2}, scales, DType::kF32), {2, 2}, DType::kBF16);
    EXPECT_THAT(std::string(read.status().message()), HasSubstr("scale at [0, 1]"));
  }
}

TEST(Fp8, ReadsTheConfigurationOfReleasesAndRefusesOthers) {
  nlohmann::json json = TinyConfig();
  EXPECT_FALSE(ParseModelConfig(json.dump())->fp8.quantized());
  const nlohmann::json release = {{"activation_scheme", "dynamic"},
                                  {"fmt", "e4m3"},
                                  {"quant_method", "fp8"},
                                  {"weight_block_size", {128, 64}}};
  json["quantization_config"] = release;
  const ModelConfig config = *ParseModelConfig(json.dump());
  EXPECT_EQ(config.fp8.rows, 128);
  EXPECT_EQ(config.fp8.columns, 64);
  const auto error_with = [&](const char* field, const nlohmann::json& value) {
    json["quantization_config"] = release;
    json["quantization_config"][field] = value;
    return std::string(ParseModelConfig(json.dump()).status().message());
  };
  EXPECT_THAT(error_with("quant_method", "gptq"), HasSubstr("gptq"));
  EXPECT_THAT(error_with("quant_method", nullptr), HasSubstr("quant_method"));
  EXPECT_THAT(error_with("fmt", "e5m2"), HasSubstr("e5m2"));
  for (const nlohmann::json& size :
       {nlohmann::json(nullptr), nlohmann::json(128), nlohmann::json({128}), nlohmann::json({0, 128}),
        nlohmann::json({128, -1}), nlohmann::json({128, 1.5}), nlohmann::json({128, 1e30})}) {
    EXPECT_THAT(error_with("weight_block_size", size), HasSubstr("weight_block_size")) << size;
  }
  json["quantization_config"] = "fp8";
  EXPECT_THAT(std::string(ParseModelConfig(json.dump()).status().message()),
              HasSubstr("quantization_config"));
}

// A model with all its layers' matrices quantized in blocks of 4 x 3, which divide none of their sizes
// evenly.
class Fp8Directory : public testing::Test {
 protected:
  void SetUp() override {
    directory_ = testing::TempDir() + "/fp8_" + testing::UnitTest::GetInstance()->current_test_info()->name();
    fs::remove_all(directory_);
    fs::create_directories(directory_);
    json_ = TinyConfig();
    json_["quantization_config"] = {{"quant_method", "fp8"}, {"fmt", "e4m3"}, {"weight_block_size", {4, 3}}};
    config_ = *ParseModelConfig(json_.dump());
    for (auto& [name, tensor] : TinyTensors(config_)) {
      if (tensor.shape.size() != 2 || name.rfind("model.layers.", 0) != 0) {
        tensors_[name] = tensor;
        continue;
      }
      const Quantized q = Quantize(tensor, config_.fp8);
      tensors_[name] = q.matrix;
      tensors_[name + "_scale_inv"] = q.scale;
    }
  }
  void TearDown() override { fs::remove_all(directory_); }
  absl::StatusOr<ModelDirectory> Read() {
    std::ofstream(directory_ + "/config.json") << json_.dump();
    std::ofstream(directory_ + "/model.safetensors", std::ios::binary) << SerializeSafetensors(tensors_);
    return ReadModelDirectory(directory_);
  }
  std::string Error() { return std::string(Read().status().message()); }

  const std::string weight_ = "model.layers.1.self_attn.o_proj.weight";
  const std::string scale_ = weight_ + "_scale_inv";
  std::string directory_;
  nlohmann::json json_;
  ModelConfig config_;
  TensorMap tensors_;
};

TEST_F(Fp8Directory, IsReadAsPlainTensors) {
  const absl::StatusOr<ModelDirectory> model = Read();
  ASSERT_TRUE(model.ok()) << model.status();
  EXPECT_EQ(model->tensors.size(), TensorTable(config_).size());
  const TensorMap original = TinyTensors(config_);
  for (const auto& [name, tensor] : model->tensors) {
    EXPECT_NE(tensor.dtype, DType::kF8E4M3) << name;
    const std::vector<float> want = ToFloats(original.at(name)), got = ToFloats(tensor);
    for (size_t i = 0; i < want.size(); ++i) ASSERT_NEAR(got[i], want[i], want[i] * 0.07) << name << " " << i;
  }
  json_["torch_dtype"] = "float32";
  EXPECT_EQ(Read()->tensors.at(weight_).dtype, DType::kF32);
}

TEST_F(Fp8Directory, LosesItsQuantizationWhenWrittenAgain) {
  const absl::StatusOr<ModelDirectory> model = Read();
  ASSERT_TRUE(model.ok()) << model.status();
  const std::string out = directory_ + "/again";
  ASSERT_TRUE(WriteModelDirectory(out, model->files, model->tensors, DType::kBF16).ok());
  const absl::StatusOr<ModelDirectory> again = ReadModelDirectory(out);
  ASSERT_TRUE(again.ok()) << again.status();
  EXPECT_FALSE(again->config.fp8.quantized());
  EXPECT_FALSE(nlohmann::json::parse(again->files.at("config.json")).contains("quantization_config"));
  EXPECT_EQ(*again->tensors.at(weight_).bytes, *model->tensors.at(weight_).bytes);
}

TEST_F(Fp8Directory, RefusesScalesThatAreMissingExtraOrMisshapen) {
  const TensorMap good = tensors_;
  tensors_.erase(scale_);
  EXPECT_THAT(Error(), HasSubstr(scale_ + " is missing"));
  EXPECT_FALSE(CheckModelTensors(directory_, config_).ok());  // already from the headers

  tensors_ = good;
  tensors_[weight_] = TinyTensors(config_).at(weight_);
  EXPECT_THAT(Error(), HasSubstr(scale_ + ": unexpected"));

  tensors_ = good;
  tensors_[scale_].shape = {3, 2};
  EXPECT_THAT(Error(), HasSubstr(scale_ + ": expected shape [2, 3], found [3, 2]"));

  tensors_ = good;
  tensors_[scale_] = {DType::kI32, {2, 3}, std::make_shared<std::string>(24, '\0')};
  EXPECT_THAT(Error(), HasSubstr(scale_ + ": type I32"));

  tensors_ = good;
  tensors_["model.layers.1.mlp.nothing.weight_scale_inv"] = tensors_[scale_];
  EXPECT_THAT(Error(), HasSubstr("nothing.weight_scale_inv"));
}

TEST_F(Fp8Directory, NamesTheTensorWithANaN) {
  std::string codes = *tensors_[weight_].bytes;
  codes[9] = '\x7f';
  tensors_[weight_].bytes = std::make_shared<std::string>(codes);
  EXPECT_THAT(Error(), HasSubstr("tensor " + weight_ + ": is not a number at [1, 1]"));
}

TEST_F(Fp8Directory, RefusesQuantizedTensorsThatTheConfigurationDoesNotAnnounce) {
  json_.erase("quantization_config");
  EXPECT_THAT(Error(), HasSubstr("quantization_config"));
}

TEST_F(Fp8Directory, RefusesQuantizedVectors) {
  tensors_["model.norm.weight"] = {DType::kF8E4M3, {8}, std::make_shared<std::string>(8, '\x38')};
  EXPECT_THAT(Error(), HasSubstr("model.norm.weight: type F8_E4M3: only matrices"));
}

}  // namespace
}  // namespace sluice
