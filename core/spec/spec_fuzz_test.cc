// Damaged inputs: whatever is changed in a valid file, a reader answers with a value or an error. Fixed
// seeds.
#include <fstream>
#include <functional>
#include <string>

#include "core/base/random.h"
#include "core/spec/chat_template.h"
#include "core/spec/checkpoint_dir.h"
#include "core/spec/manifest.h"
#include "core/spec/model_config.h"
#include "core/spec/tiny_model.h"
#include "core/spec/tokenizer.h"
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

// Runs `read` on damaged copies; it returns whether the copy was accepted. Both must occur, or the test sees
// nothing.
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

TEST(DamagedFile, ModelConfigNeverCrashes) {
  Fuzz(TinyConfig().dump(), 3000, [](const std::string& text) {
    const absl::StatusOr<ModelConfig> config = ParseModelConfig(text);
    if (!config.ok()) return false;
    EXPECT_EQ(config->moe_layer.size(), static_cast<size_t>(config->layers));
    EXPECT_EQ(config->RopeInverseFrequencies().size(), static_cast<size_t>(config->qk_rope_dim / 2));
    return true;
  });
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

TEST(DamagedFile, ChatTemplateNeverCrashes) {
  const std::string source =
      "{%- set ns = namespace(x='', n=[1, 2]) -%}\n{% macro f(a, b=2) %}{{ a ~ b }}{% endmacro %}"
      "{% for m in messages if m.role is defined %}{# c #}{% if loop.first and m['content'] in ['a', 'b'] %}"
      "{{ bos_token + m.content | trim | upper }}{% elif not m.x is none %}{% set ns.x = ns.x + 'q' %}{% "
      "else %}"
      "{{ m.content.split('</t>')[-1][1:] | tojson(indent=1) }}{% endif %}{% endfor %}{{ f(1, b=-3 * 2 // 1) "
      "}}"
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
