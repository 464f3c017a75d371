// Damaged inputs: whatever is changed in a valid file, a reader answers with a
// value or an error. Fixed seeds.
#include <algorithm>
#include <cmath>
#include <filesystem>
#include <fstream>
#include <functional>
#include <string>

#include "core/base/file.h"
#include "core/base/random.h"
#include "core/spec/checkpoint/checkpoint_dir.h"
#include "core/spec/config/model_config.h"
#include "core/spec/template/chat_template.h"
#include "core/spec/tensors/manifest.h"
#include "core/spec/tiny_model.h"
#include "core/spec/tokenizer/tokenizer.h"
#include "gtest/gtest.h"

namespace sluice {
namespace {

// One to four changes: a byte replaced, bytes cut out, or a stretch repeated.
std::string Damaged(const std::string& valid, uint64_t seed) {
  uint64_t counter = 0;
  const auto draw = [&](uint64_t below) { return BitsAt(seed, RandomDomain::kShuffle, counter++) % below; };
  std::string out = valid;
  const uint64_t changes = 1 + draw(4);
  for (uint64_t i = 0; i < changes && !out.empty(); ++i) {
    const size_t at = draw(out.size());
    switch (draw(4)) {
      case 0:
        out[at] = static_cast<char>(draw(256));
        break;
      case 1:
        out[at] = "0123456789-{}[]\",:%'\\|. eE"[draw(27) % 26];
        break;
      case 2:
        out.erase(at, 1 + draw(16));
        break;
      default:
        out.insert(at, out.substr(draw(out.size()), 1 + draw(16)));
    }
  }
  return out;
}

// Runs `read` on damaged copies; it returns whether the copy was accepted. Both
// must occur, or the test sees nothing.
void Fuzz(const std::string& valid, int rounds, const std::function<bool(const std::string&)>& read) {
  ASSERT_TRUE(read(valid));
  int refused = 0;
  for (int i = 0; i < rounds; ++i) refused += read(Damaged(valid, static_cast<uint64_t>(i))) ? 0 : 1;
  EXPECT_GT(refused, rounds / 20);
}

TEST(DamagedFile, SafetensorsNeverCrash) {
  const std::string path = testing::TempDir() + "/damaged.safetensors";
  const float values[6] = {1, 2, 3, 4, 5, 6};
  const TensorMap tensors = {{"a", TensorFromFloats({2, 3}, values, DType::kF32)},
                             {"b", TensorFromFloats({3}, values, DType::kBF16)}};
  Fuzz(SerializeSafetensors(tensors), 2000, [&](const std::string& bytes) {
    std::ofstream(path, std::ios::binary | std::ios::trunc) << bytes;
    const absl::StatusOr<TensorMap> read = ReadSafetensors(path);
    if (!read.ok()) return false;
    for (const auto& [name, tensor] : *read) {
      EXPECT_EQ(static_cast<int64_t>(tensor.bytes->size()), tensor.elements() * BytesOf(tensor.dtype))
          << name;
    }
    return true;
  });
}

bool ReadsConfig(const std::string& text) {
  const absl::StatusOr<ModelConfig> config = ParseModelConfig(text);
  if (!config.ok()) return false;
  EXPECT_EQ(config->moe_layer.size(), static_cast<size_t>(config->layers));
  EXPECT_EQ(config->heads % std::max<int64_t>(config->kv_heads, 1), 0);
  const std::vector<float> frequencies = config->RopeInverseFrequencies();
  EXPECT_EQ(frequencies.size(), static_cast<size_t>(config->qk_rope_dim / 2));
  for (const float frequency : frequencies) EXPECT_TRUE(std::isfinite(frequency));
  return true;
}

TEST(DamagedFile, ModelConfigNeverCrashes) {
  Fuzz(TinyConfig().dump(), 3000, ReadsConfig);
  nlohmann::json yarn = TinyGroupedConfig("qwen3");
  yarn["rope_scaling"] = {{"type", "yarn"}, {"factor", 4}, {"original_max_position_embeddings", 16}};
  yarn["quantization_config"] = {{"quant_method", "fp8"}, {"weight_block_size", {128, 128}}};
  Fuzz(yarn.dump(), 2000, ReadsConfig);
  nlohmann::json llama3 = TinyGroupedConfig("llama");
  llama3["rope_parameters"] = {
      {"rope_type", "llama3"}, {"factor", 8}, {"low_freq_factor", 1}, {"high_freq_factor", 4}};
  llama3.erase("rope_scaling");
  Fuzz(llama3.dump(), 2000, ReadsConfig);
}

// Weights in two files with an index; each of the four files is damaged in turn.
TEST(DamagedFile, ModelDirectoryNeverCrashes) {
  const std::string directory = testing::TempDir() + "/damaged_model";
  std::filesystem::remove_all(directory);
  const ModelConfig config = *ParseModelConfig(TinyGroupedConfig("llama").dump());
  ASSERT_TRUE(WriteModelDirectory(directory, {{"config.json", TinyGroupedConfig("llama").dump()}},
                                  TinyTensors(config), DType::kBF16, 2500)
                  .ok());
  std::vector<std::string> names;
  for (const auto& entry : std::filesystem::directory_iterator(directory)) names.push_back(entry.path());
  ASSERT_GE(names.size(), 4u);
  for (const std::string& name : names) {
    const std::string valid = *ReadFile(name);
    Fuzz(valid, 150, [&](const std::string& bytes) {
      std::ofstream(name, std::ios::binary | std::ios::trunc) << bytes;
      const absl::StatusOr<ModelDirectory> read = ReadModelDirectory(directory);
      if (!read.ok()) return false;
      for (const auto& [tensor_name, tensor] : read->tensors)
        EXPECT_LT(FirstNonFinite(tensor), 0) << tensor_name;
      return true;
    });
    std::ofstream(name, std::ios::binary | std::ios::trunc) << valid;
  }
}

TEST(DamagedFile, ManifestNeverCrashes) {
  Manifest manifest;
  manifest.version = 1;
  manifest.tensors = {{"a", DType::kBF16, {2, 3}, 12, std::string(64, 'a')}};
  Fuzz(SerializeManifest(manifest), 3000, [](const std::string& text) { return ParseManifest(text).ok(); });
}

TEST(DamagedFile, TokenizerNeverCrashes) {
  nlohmann::json json = TinyTokenizer();
  // Few tokens, so that most damage hits the other parts.
  nlohmann::json vocab = {{"h", 0},  {"e", 1},  {"l", 2},    {"o", 3},
                          {"he", 4}, {"ll", 5}, {"hell", 6}, {"hello", 7}};
  vocab["<s>"] = 261;
  vocab["</s>"] = 262;
  json["model"]["vocab"] = vocab;
  json["model"]["merges"].erase(4);
  json["pre_tokenizer"] = {
      {"type", "Sequence"},
      {"pretokenizers",
       {{{"type", "Split"},
         {"pattern", {{"Regex", R"((?i:'s|'t)|[^\r\n\p{L}\p{N}]?\p{L}+|\p{N}{1,3}|\s+(?!\S)|\s+)"}}},
         {"behavior", "Isolated"},
         {"invert", false}},
        json["pre_tokenizer"]}}};
  Fuzz(json.dump(), 3000, [](const std::string& text) {
    const auto tokenizer = ParseTokenizer(text);
    if (!tokenizer.ok()) return false;
    const auto ids = (*tokenizer)->Encode("hello <s> he's 12345 \n 你好 <think>", true);
    if (ids.ok()) (void)(*tokenizer)->Decode(*ids, true);
    return true;
  });
}

// A tokenizer in SentencePiece's style, with every kind of step.
TEST(DamagedFile, SentencePieceTokenizerNeverCrashes) {
  const std::string source =
      R"({"model": {"type": "BPE", "byte_fallback": true, "fuse_unk": true, "unk_token": "<unk>",
    "vocab": {"<unk>": 0, "<0x0A>": 1, "<0xE4>": 2, "\u2581": 3, "a": 4, "b": 5, "ab": 6, "\u2581ab": 7},
    "merges": ["a b", ["\u2581", "ab"]]},
    "normalizer": {"type": "Sequence", "normalizers": [{"type": "NFKC"}, {"type": "Lowercase"}, {"type": "Strip"},
      {"type": "StripAccents"}, {"type": "Prepend", "prepend": "x"}, {"type": "Replace", "pattern": {"Regex": "x+"}, "content": " "}]},
    "pre_tokenizer": {"type": "Sequence", "pretokenizers": [{"type": "Digits", "individual_digits": true},
      {"type": "Punctuation", "behavior": "Contiguous"}, {"type": "Whitespace"},
      {"type": "Split", "pattern": {"String": "b"}, "behavior": "MergedWithNext", "invert": true},
      {"type": "Metaspace", "replacement": "\u2581", "prepend_scheme": "first", "split": false}]},
    "post_processor": {"type": "BertProcessing", "cls": ["a", 4], "sep": ["b", 5]},
    "decoder": {"type": "Sequence", "decoders": [{"type": "Replace", "pattern": {"String": "\u2581"}, "content": " "},
      {"type": "ByteFallback"}, {"type": "Strip", "content": "b", "start": 1, "stop": 1}, {"type": "Fuse"},
      {"type": "Replace", "pattern": {"String": "aa"}, "content": "b"}, {"type": "Strip", "content": " ", "start": 1, "stop": 2}]}})";
  Fuzz(source, 3000, [](const std::string& text) {
    const auto tokenizer = ParseTokenizer(text);
    if (!tokenizer.ok()) return false;
    const auto ids = (*tokenizer)->Encode("Ab ab  \u00e4b 12!\n\u4f60\u597d abab", true);
    if (ids.ok()) (void)(*tokenizer)->Decode(*ids, true);
    for (int32_t id = -1; id < 12; ++id) (void)(*tokenizer)->TokenBytes(id);
    (void)(*tokenizer)->Decode({2, 2, 1, 6, 7, 3, 3, 0, 99, -5, 2}, false);
    return true;
  });
}

TEST(DamagedFile, ChatTemplateNeverCrashes) {
  const std::string source =
      "{%- set ns = namespace(x='', n=[1, 2]) -%}\n{% macro f(a, b=2) %}{{ a ~ "
      "b }}{% endmacro %}"
      "{% for m in messages if m.role is defined %}{# c #}{% if loop.first and "
      "m['content'] in ['a', 'b'] %}"
      "{{ bos_token + m.content | trim | upper }}{% elif not m.x is none %}{% "
      "set ns.x = ns.x + 'q' %}{% "
      "else %}"
      "{{ m.content.split('</t>')[-1][1:] | tojson(indent=1) }}{% endif %}{% "
      "endfor %}{{ f(1, b=-3 * 2 // 1) "
      "}}"
      "{% for i in [{'c': [{}]}] recursive %}{{ loop.depth0 ~ loop(i.c) }}{% endfor %}{% raw %}{{{% endraw %}"
      "{{ messages | map(attribute='role') | sort | unique | join('-') }}{{ 1 < 2 <= 3 }}{{ 'a\nb' | indent "
      "}}"
      "{{ {'b': 1, 'a': 2} | dictsort | tojson(separators=(',', ':')) }}{{ 'x=y'.partition('=') | reverse | "
      "list }}"
      "{{ strftime_now('%d %b') | length }}{{ 'q' * 3 is in 'qqqq' }}{{ [3, 1] | max }}{{ 'a b'.rsplit(' ', "
      "1) }}"
      "{{ ns.n[0] if ns.n | length > 1 else {'k': (1, 2.5)} }}";
  Fuzz(source, 5000, [](const std::string& text) {
    const auto parsed = ChatTemplate::Parse(text, "<s>", "</s>");
    if (!parsed.ok()) return false;
    (void)(*parsed)->Render({{"user", "a"}, {"assistant", "b</t>c"}}, true);
    return true;
  });
}

}  // namespace
}  // namespace sluice
