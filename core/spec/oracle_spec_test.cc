// Against checkpoints and reference values made by transformers, in the folders of $SLUICE_ORACLE_DIR.
#include <cmath>
#include <cstdlib>
#include <filesystem>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "core/base/file.h"
#include "core/spec/checkpoint/checkpoint_dir.h"
#include "core/spec/template/chat_template.h"
#include "core/spec/text/json.h"
#include "core/spec/tokenizer/tokenizer.h"
#include "gtest/gtest.h"

namespace sluice {
namespace {

class OracleSpec : public testing::Test {
 protected:
  void SetUp() override {
    const char* root = std::getenv("SLUICE_ORACLE_DIR");
    if (root == nullptr) {
      GTEST_SKIP()
          << "SLUICE_ORACLE_DIR is not set: it must name a folder of checkpoints with reference values";
    }
    for (const auto& entry : std::filesystem::directory_iterator(root)) {
      if (std::filesystem::exists(entry.path() / "tokenizer_tests.json"))
        folders_.push_back(entry.path().string());
    }
    if (folders_.empty()) GTEST_SKIP() << root << " has no folder with a tokenizer_tests.json";
  }

  static nlohmann::json ReadJson(const std::string& path) {
    const absl::StatusOr<std::string> text = ReadFile(path);
    EXPECT_TRUE(text.ok()) << text.status();
    return nlohmann::json::parse(text.value_or("null"));
  }

  std::vector<std::string> folders_;
};

TEST_F(OracleSpec, TokenizerEqualsReference) {
  for (const std::string& folder : folders_) {
    SCOPED_TRACE(folder);
    const auto tokenizer = ParseTokenizer(*ReadFile(folder + "/tokenizer.json"));
    ASSERT_TRUE(tokenizer.ok()) << tokenizer.status();
    const nlohmann::json tests = ReadJson(folder + "/tokenizer_tests.json");
    EXPECT_EQ((*tokenizer)->vocab_size(), tests["vocab_size"].get<int>());
    for (const nlohmann::json& test : tests["strings"]) {
      const std::string text = test["text"];
      SCOPED_TRACE(text);
      using Ids = std::vector<int32_t>;
      EXPECT_EQ(*(*tokenizer)->Encode(text, true), test["ids"].get<Ids>());
      const Ids ids = *(*tokenizer)->Encode(text, false);
      EXPECT_EQ(ids, test["ids_no_special"].get<Ids>());
      EXPECT_EQ((*tokenizer)->Decode(ids, false), test["decoded"].get<std::string>());
      EXPECT_EQ((*tokenizer)->Decode(ids, true), test["decoded_skip_special"].get<std::string>());
    }
  }
}

TEST_F(OracleSpec, RenderedChatsEqualReference) {
  for (const std::string& folder : folders_) {
    SCOPED_TRACE(folder);
    const auto tokenizer = ParseTokenizer(*ReadFile(folder + "/tokenizer.json"));
    const auto chat = ChatTemplate::FromModelFiles(*ReadFile(folder + "/tokenizer_config.json"),
                                                   ReadFile(folder + "/chat_template.jinja").value_or(""));
    ASSERT_TRUE(tokenizer.ok() && chat.ok()) << chat.status();
    for (const nlohmann::json& test : ReadJson(folder + "/tokenizer_tests.json")["chats"]) {
      std::vector<ChatMessage> messages;
      for (const nlohmann::json& m : test["messages"]) messages.push_back({m["role"], m["content"]});
      const absl::StatusOr<std::string> text = (*chat)->Render(messages, test["add_generation_prompt"]);
      ASSERT_TRUE(text.ok()) << text.status();
      EXPECT_EQ(*text, test["text"].get<std::string>());
      EXPECT_EQ(*(*tokenizer)->Encode(*text, false), test["ids"].get<std::vector<int32_t>>());
    }
  }
}

TEST_F(OracleSpec, CheckpointHasTheTensorsOfItsTable) {
  for (const std::string& folder : folders_) {
    SCOPED_TRACE(folder);
    const absl::StatusOr<ModelDirectory> model = ReadModelDirectory(folder);
    ASSERT_TRUE(model.ok()) << model.status();
    EXPECT_EQ(model->tensors.size(), TensorTable(model->config).size());
  }
}

TEST_F(OracleSpec, RotationAndSoftmaxScaleEqualReference) {
  for (const std::string& folder : folders_) {
    SCOPED_TRACE(folder);
    const auto config = ParseModelConfig(*ReadFile(folder + "/config.json"));
    ASSERT_TRUE(config.ok()) << config.status();
    const nlohmann::json traps = ReadJson(folder + "/reference.json")["traps"];
    const double scale = traps["softmax_scale"]["value"];
    EXPECT_NEAR(config->SoftmaxScale(), scale, 1e-12 * scale);
    EXPECT_FLOAT_EQ(config->RopeAmplitude(), traps["rope_cos_sin_factor"].get<float>());
    const auto reference = ReadSafetensors(folder + "/reference.safetensors");
    ASSERT_TRUE(reference.ok()) << reference.status();
    const HostTensor& expected = reference->at("rope.inv_freq");
    const std::vector<float> found = config->RopeInverseFrequencies();
    ASSERT_EQ(static_cast<int64_t>(found.size()), expected.elements());
    for (size_t i = 0; i < found.size(); ++i) {
      const double value = reinterpret_cast<const double*>(expected.bytes->data())[i];
      EXPECT_EQ(found[i], static_cast<float>(value)) << i;
    }
  }
}

}  // namespace
}  // namespace sluice
