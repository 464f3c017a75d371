#include "core/spec/checkpoint/checkpoint_dir.h"

#include <cmath>
#include <filesystem>
#include <fstream>
#include <limits>
#include <string>

#include "absl/strings/str_cat.h"
#include "core/base/file.h"
#include "core/spec/checkpoint/model_check.h"
#include "core/spec/checkpoint/safetensors_header.h"
#include "core/spec/tiny_model.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace sluice {
namespace {

using testing::HasSubstr;
namespace fs = std::filesystem;

class CheckpointDir : public testing::Test {
 protected:
  void SetUp() override {
    root_ = (fs::path(testing::TempDir()) / testing::UnitTest::GetInstance()->current_test_info()->name())
                .string();
    fs::remove_all(root_);
    fs::create_directories(root_);
    directory_ = root_ + "/model";
    config_ = *ParseModelConfig(TinyConfig().dump());
    tensors_ = TinyTensors(config_);
  }
  void TearDown() override { fs::remove_all(root_); }

  void Put(const std::string& name, const std::string& bytes) {
    fs::create_directories(directory_);
    std::ofstream(directory_ + "/" + name, std::ios::binary) << bytes;
  }
  void PutModel() {
    Put("config.json", TinyConfig().dump());
    Put("model.safetensors", SerializeSafetensors(tensors_));
  }
  std::string ReadError() { return std::string(ReadModelDirectory(directory_).status().message()); }

  std::string root_, directory_;
  ModelConfig config_;
  TensorMap tensors_;
};

TEST_F(CheckpointDir, ReadsWhatItWrote) {
  const ModelFiles files = {{"config.json", TinyConfig().dump()}, {"tokenizer.json", "{}"}};
  ASSERT_TRUE(WriteModelDirectory(directory_, files, tensors_, DType::kBF16).ok());
  const absl::StatusOr<ModelDirectory> read = ReadModelDirectory(directory_);
  ASSERT_TRUE(read.ok()) << read.status();
  EXPECT_EQ(read->files.at("tokenizer.json"), "{}");
  ASSERT_EQ(read->tensors.size(), tensors_.size());
  for (const auto& [name, tensor] : tensors_) EXPECT_EQ(*read->tensors.at(name).bytes, *tensor.bytes) << name;
  EXPECT_EQ(std::distance(fs::directory_iterator(root_), fs::directory_iterator()),
            1);  // no temporary folder stays
}

TEST_F(CheckpointDir, WritesShardsWithAnIndexAboveTheLimit) {
  const ModelFiles files = {{"config.json", TinyConfig().dump()}};
  ASSERT_TRUE(WriteModelDirectory(directory_, files, tensors_, DType::kBF16, 1000).ok());
  EXPECT_TRUE(FileExists(directory_ + "/model.safetensors.index.json"));
  EXPECT_FALSE(FileExists(directory_ + "/model.safetensors"));
  const absl::StatusOr<ModelDirectory> read = ReadModelDirectory(directory_);
  ASSERT_TRUE(read.ok()) << read.status();
  for (const auto& [name, tensor] : tensors_) EXPECT_EQ(*read->tensors.at(name).bytes, *tensor.bytes) << name;
}

TEST_F(CheckpointDir, SetsTheTypeThatItWrites) {
  nlohmann::json config = TinyConfig();
  config["dtype"] = "bfloat16";
  ASSERT_TRUE(WriteModelDirectory(directory_, {{"config.json", config.dump()}}, tensors_, DType::kF32).ok());
  const absl::StatusOr<ModelDirectory> read = ReadModelDirectory(directory_);
  ASSERT_TRUE(read.ok()) << read.status();
  EXPECT_EQ(read->config.stored_dtype, DType::kF32);
  const nlohmann::json written = nlohmann::json::parse(read->files.at("config.json"));
  EXPECT_EQ(written["dtype"], "float32");
  EXPECT_EQ(written["torch_dtype"], "float32");
  for (const auto& [name, tensor] : read->tensors) {
    EXPECT_EQ(tensor.dtype, DType::kF32);
    EXPECT_EQ(ToFloats(tensor), ToFloats(tensors_.at(name)));
  }
}

TEST_F(CheckpointDir, RefusesToWriteOverAModel) {
  Put("config.json", "precious");
  const absl::Status status =
      WriteModelDirectory(directory_, {{"config.json", TinyConfig().dump()}}, tensors_, DType::kBF16);
  EXPECT_EQ(status.code(), absl::StatusCode::kFailedPrecondition);
  EXPECT_EQ(*ReadFile(directory_ + "/config.json"), "precious");
  EXPECT_FALSE(WriteModelDirectory(root_ + "/x", {{"../evil", ""}}, tensors_, DType::kBF16).ok());
}

TEST(ConfigOf, NamesTheDirectory) {
  EXPECT_EQ(ConfigOf({}, "/m").status().message(), "/m: config.json is missing: not a model directory");
  EXPECT_THAT(std::string(ConfigOf({{"config.json", "{"}}, "/m").status().message()),
              testing::StartsWith("/m: config.json"));
}

TEST_F(CheckpointDir, SkipsPredictionLayersAndRotaryBuffers) {
  const float zeros[4] = {0, 0, 0, 0};
  TensorMap more = tensors_;
  more["model.layers.2.eh_proj.weight"] = TensorFromFloats({2, 2}, zeros, DType::kF32);
  more["model.layers.0.self_attn.rotary_emb.inv_freq"] = TensorFromFloats({2}, zeros, DType::kF32);
  Put("config.json", TinyConfig().dump());
  Put("model.safetensors", SerializeSafetensors(more));
  const absl::StatusOr<ModelDirectory> read = ReadModelDirectory(directory_);
  ASSERT_TRUE(read.ok()) << read.status();
  EXPECT_EQ(read->tensors.size(), tensors_.size());
}

TEST_F(CheckpointDir, NamesTheTensorThatDoesNotFit) {
  tensors_.erase("model.layers.1.self_attn.o_proj.weight");
  PutModel();
  EXPECT_THAT(ReadError(), HasSubstr("model.layers.1.self_attn.o_proj.weight of shape [8, 8] is missing"));

  tensors_ = TinyTensors(config_);
  tensors_["model.layers.0.surprise"] = tensors_["model.norm.weight"];
  PutModel();
  EXPECT_THAT(ReadError(), HasSubstr("model.layers.0.surprise"));

  tensors_ = TinyTensors(config_);
  tensors_["model.norm.weight"].shape = {2, 4};
  PutModel();
  EXPECT_THAT(ReadError(), HasSubstr("model.norm.weight: expected shape [8], found [2, 4]"));
}

TEST_F(CheckpointDir, SaysWhichNameWasProbablyMeant) {
  const std::string meant = "model.layers.1.self_attn.o_proj.weight",
                    found = "model.layers.1.attn.o_proj.weight";
  tensors_[found] = tensors_[meant];
  tensors_.erase(meant);
  PutModel();
  const std::string error = ReadError();
  EXPECT_THAT(error, HasSubstr("tensor " + found + " of shape [8, 8]: unexpected"));
  EXPECT_THAT(error, HasSubstr("the nearest that is missing is " + meant));
  EXPECT_THAT(error, HasSubstr(meant + " of shape [8, 8] is missing"));
  tensors_["zzz"] = tensors_["model.norm.weight"];
  PutModel();
  EXPECT_THAT(ReadError(), HasSubstr("1 more are unexpected"));
}

TEST_F(CheckpointDir, NamesTheTensorAndPlaceOfAValueThatIsNoNumber) {
  const std::string name = "model.layers.0.mlp.up_proj.weight";
  for (const float bad :
       {std::nanf(""), std::numeric_limits<float>::infinity(), -std::numeric_limits<float>::infinity()}) {
    for (const DType dtype : {DType::kBF16, DType::kF32}) {
      tensors_ = TinyTensors(config_);
      std::vector<float> values = ToFloats(tensors_[name]);
      values[3 * 8 + 5] = bad;
      tensors_[name] = TensorFromFloats(tensors_[name].shape, values.data(), dtype);
      PutModel();
      EXPECT_THAT(ReadError(),
                  HasSubstr("tensor " + name + ": the value at [3, 5] is infinite or not a number"));
      EXPECT_TRUE(CheckModelTensors(directory_, config_).ok());  // its header is good
    }
  }
}

TEST_F(CheckpointDir, ReadsNothingButTheFolder) {
  PutModel();
  fs::create_symlink("/nonexistent", directory_ + "/tokenizer.json");
  EXPECT_EQ(ReadError(), "");  // a dangling link is a file that is not there
  fs::remove(directory_ + "/model.safetensors");
  fs::create_directory(directory_ + "/model.safetensors");
  EXPECT_THAT(ReadError(), HasSubstr("model.safetensors"));
}

TEST_F(CheckpointDir, RefusesAbsurdFilesBesideTheWeights) {
  PutModel();
  Put("config.json", "{\"x\": \"" + std::string(2 << 20, 'x') + "\"}");
  EXPECT_EQ(ReadModelDirectory(directory_).status().code(), absl::StatusCode::kResourceExhausted);
  Put("config.json", std::string("\0\xff\xfe", 3));
  EXPECT_THAT(ReadError(), HasSubstr("config.json"));
  Put("config.json", TinyConfig().dump());
  Put("generation_config.json", "[");
  EXPECT_THAT(ReadError(), HasSubstr("generation_config.json"));
}

TEST_F(CheckpointDir, HintsAtAnotherVocabulary) {
  PutModel();
  nlohmann::json config = TinyConfig();
  config["vocab_size"] = 41;
  Put("config.json", config.dump());
  EXPECT_THAT(ReadError(), HasSubstr("vocab_size 41, the checkpoint has 40 rows"));
}

TEST_F(CheckpointDir, ChecksTheTensorsByTheirHeadersAlone) {
  PutModel();
  EXPECT_TRUE(CheckModelTensors(directory_, config_).ok()) << CheckModelTensors(directory_, config_);
  ModelConfig other = config_;
  other.vocab += 1;
  EXPECT_THAT(std::string(CheckModelTensors(directory_, other).message()), HasSubstr("vocab_size 41"));
  tensors_.erase("model.norm.weight");
  PutModel();
  EXPECT_THAT(std::string(CheckModelTensors(directory_, config_).message()), HasSubstr("model.norm.weight"));
  EXPECT_EQ(CheckModelTensors(root_, config_).code(), absl::StatusCode::kNotFound);
}

TEST_F(CheckpointDir, SaysWhatIsMissing) {
  EXPECT_EQ(ReadModelDirectory(root_ + "/nowhere").status().code(), absl::StatusCode::kNotFound);
  EXPECT_THAT(std::string(ReadModelDirectory(root_).status().message()), HasSubstr("config.json"));
  Put("config.json", TinyConfig().dump());
  EXPECT_THAT(ReadError(), HasSubstr("safetensors"));
}

TEST_F(CheckpointDir, ChecksTheIndex) {
  Put("config.json", TinyConfig().dump());
  const auto with_map = [&](const nlohmann::json& map) {
    Put("model.safetensors.index.json", nlohmann::json{{"weight_map", map}}.dump());
    return ReadError();
  };
  for (const char* file : {"../../etc/x.safetensors", "/x.safetensors", "a/b.safetensors", "x.bin",
                           ".x.safetensors", "..", ""}) {
    EXPECT_THAT(with_map({{"t", file}}), HasSubstr("not a plain name")) << file;
  }
  EXPECT_THAT(with_map({{"t", 3}}), HasSubstr("no string"));
  EXPECT_THAT(with_map(nlohmann::json::object()), HasSubstr("weight_map"));
  Put("model-1.safetensors", SerializeSafetensors(tensors_));
  nlohmann::json map;
  for (const auto& [name, tensor] : tensors_) map[name] = "model-1.safetensors";
  EXPECT_EQ(with_map(map), "");
  nlohmann::json fewer = map, more = map;
  fewer.erase("lm_head.weight");
  nlohmann::json elsewhere = map;
  elsewhere["lm_head.weight"] = "model-2.safetensors";
  EXPECT_THAT(with_map(elsewhere), HasSubstr("lm_head.weight: the index does not place it in this file"));
  elsewhere = map;
  elsewhere["absent.weight"] = "model-2.safetensors";
  EXPECT_THAT(with_map(elsewhere), HasSubstr("model-2.safetensors"));
  Put("model-2.safetensors", SerializeSafetensors({{"lm_head.weight", tensors_["lm_head.weight"]}}));
  elsewhere["lm_head.weight"] = "model-2.safetensors";  // in both files
  elsewhere.erase("absent.weight");
  EXPECT_THAT(with_map(elsewhere), HasSubstr("model-1.safetensors: tensor lm_head.weight"));
  more["absent.weight"] = "model-1.safetensors";
  EXPECT_THAT(with_map(fewer), HasSubstr("lm_head.weight: the index does not place it"));
  EXPECT_THAT(with_map(more), HasSubstr("absent.weight: missing"));
}

std::string WithHeader(const std::string& header, size_t data_bytes) {
  std::string out;
  for (int i = 0; i < 8; ++i) out.push_back(static_cast<char>(uint64_t{header.size()} >> (8 * i)));
  return out + header + std::string(data_bytes, 'x');
}

struct HostileFile {
  const char* what;
  std::string bytes;
  const char* error;
};

TEST_F(CheckpointDir, RefusesHostileSafetensors) {
  const std::string deep = "{\"a\":" + std::string(100'000, '[') + std::string(100'000, ']') + "}";
  const auto one = [](const char* shape, const char* offsets) {
    return absl::StrCat(R"({"t":{"dtype":"F32","shape":)", shape, R"(,"data_offsets":)", offsets, "}}");
  };
  const auto two = [](const char* a, const char* b) {
    return absl::StrCat(R"({"a":{"dtype":"U8","shape":[4],"data_offsets":)", a,
                        R"(},"b":{"dtype":"U8","shape":[4],"data_offsets":)", b, "}}");
  };
  const HostileFile files[] = {
      {"empty", "", "no safetensors"},
      {"short length", "abc", "no safetensors"},
      {"header past the end", std::string("\xff\0\0\0\0\0\0\0{}", 10), "truncated"},
      {"huge header", std::string("\xff\xff\xff\xff\xff\xff\xff\x7f{}", 10), "over the limit"},
      {"negative header", std::string("\xff\xff\xff\xff\xff\xff\xff\xff{}", 10), "over the limit"},
      {"no JSON", WithHeader("hello", 0), "not JSON"},
      {"bad UTF-8", WithHeader("{\"\xff\":1}", 0), "not JSON"},
      {"a list", WithHeader("[]", 0), "not a JSON object"},
      {"deep JSON", WithHeader(deep, 0), "deeper"},
      {"a tensor that is a number", WithHeader("{\"t\":1}", 0), "not an object"},
      {"unknown type", WithHeader(R"({"t":{"dtype":"F4","shape":[4],"data_offsets":[0,4]}})", 4), "F4"},
      {"no type", WithHeader(R"({"t":{"shape":[4],"data_offsets":[0,4]}})", 4), "dtype"},
      {"overflow", WithHeader(one("[4294967296,4294967296,4294967296]", "[0,4]"), 4), "overflows"},
      {"size past 63 bits", WithHeader(one("[18446744073709551615]", "[0,4]"), 4), "no size"},
      {"negative size", WithHeader(one("[-1]", "[0,4]"), 4), "no size"},
      {"fraction", WithHeader(one("[1.5]", "[0,4]"), 4), "no size"},
      {"many dimensions", WithHeader(one("[1,1,1,1,1,1,1,1,1]", "[0,4]"), 4), "at most"},
      {"wrong bytes", WithHeader(one("[2]", "[0,4]"), 4), "need 8 bytes"},
      {"outside", WithHeader(one("[2]", "[0,8]"), 4), "outside"},
      {"backwards", WithHeader(one("[1]", "[4,0]"), 4), "outside"},
      {"three offsets", WithHeader(one("[1]", "[0,4,8]"), 4), "data_offsets"},
      {"overlap", WithHeader(two("[0,4]", "[2,6]"), 6), "overlap"},
      {"hole", WithHeader(two("[0,4]", "[6,10]"), 10), "hole"},
      {"rest", WithHeader(two("[0,4]", "[4,8]"), 9), "belong to none"},
      {"twice", WithHeader(R"({"t":{"dtype":"U8","shape":[0],"data_offsets":[0,0]},"t":{}})", 0), "twice"},
      {"metadata", WithHeader(R"({"__metadata__":{"a":1}})", 0), "__metadata__"},
  };
  for (const HostileFile& file : files) {
    Put("x.safetensors", file.bytes);
    const absl::Status status = ReadSafetensors(directory_ + "/x.safetensors").status();
    EXPECT_THAT(std::string(status.message()), HasSubstr(file.error)) << file.what;
    EXPECT_THAT(std::string(status.message()), HasSubstr("x.safetensors")) << file.what;
  }
}

TEST_F(CheckpointDir, ReadsEmptyTensorsAndScalars) {
  const float value = 3;
  TensorMap tensors = {{"none", TensorFromFloats({0, 5}, &value, DType::kF32)},
                       {"scalar", TensorFromFloats({}, &value, DType::kBF16)}};
  Put("x.safetensors", SerializeSafetensors(tensors));
  const absl::StatusOr<TensorMap> read = ReadSafetensors(directory_ + "/x.safetensors");
  ASSERT_TRUE(read.ok()) << read.status();
  EXPECT_EQ(read->at("none").elements(), 0);
  EXPECT_EQ(ToFloats(read->at("scalar")), std::vector<float>{3});
}

TEST(SerializeSafetensors, AlignsEveryTensor) {
  const float values[3] = {1, 2, 3};
  const TensorMap tensors = {{"a", TensorFromFloats({3}, values, DType::kBF16)},
                             {"b", TensorFromFloats({3}, values, DType::kF32)}};
  const std::string bytes = SerializeSafetensors(tensors);
  const size_t header = static_cast<uint8_t>(bytes[0]) | static_cast<uint8_t>(bytes[1]) << 8;
  EXPECT_EQ(header % 8, 0u);
  const auto entries = ParseSafetensorsHeader(bytes.substr(8, header), 18, "x");
  ASSERT_TRUE(entries.ok()) << entries.status();
  for (const SafetensorsEntry& entry : *entries)
    EXPECT_EQ(entry.begin % BytesOf(entry.dtype), 0) << entry.name;
}

}  // namespace
}  // namespace sluice
