// Writes a valid input or two for each fuzzer: fuzz_seeds FOLDER
#include <cstdio>
#include <filesystem>
#include <fstream>
#include <string>

#include "core/spec/tiny_model.h"
#include "reward/math/suite/rows.h"

namespace sluice {
namespace {

class Seeds {
 public:
  explicit Seeds(std::string root) : root_(std::move(root)) {}
  void Put(const std::string& reader, const std::string& name, const std::string& bytes) const {
    std::filesystem::create_directories(root_ + "/" + reader);
    std::ofstream(root_ + "/" + reader + "/" + name, std::ios::binary) << bytes;
  }

 private:
  std::string root_;
};

// One layer in place of two keeps the inputs small.
nlohmann::json SmallConfig(nlohmann::json json) {
  json["num_hidden_layers"] = 1;
  json["first_k_dense_replace"] = 0;
  return json;
}

std::string Directory(const nlohmann::json& config, bool with_index, bool quantized) {
  TensorMap tensors;
  for (auto& [name, tensor] : TinyTensors(*ParseModelConfig(config.dump()))) {
    tensors[name] = tensor;
    if (!quantized || tensor.shape.size() != 2) continue;
    const int64_t rows = tensor.shape[0], columns = tensor.shape[1];
    tensors[name] = {DType::kF8E4M3, tensor.shape,
                     std::make_shared<std::string>(static_cast<size_t>(rows * columns), '8')};
    const std::vector<float> ones(static_cast<size_t>(rows * columns), 1.0f);
    tensors[name + "_scale_inv"] =
        TensorFromFloats({(rows + 3) / 4, (columns + 3) / 4}, ones.data(), DType::kF32);
  }
  nlohmann::json map;
  for (const auto& [name, tensor] : tensors) map[name] = "model-1.safetensors";
  const std::string index = with_index ? nlohmann::json{{"weight_map", map}}.dump() : "";
  return config.dump() + "\n====\n" + index + "\n====\n" + SerializeSafetensors(tensors);
}

void WriteAll(const Seeds& seeds) {
  const nlohmann::json latent = SmallConfig(TinyConfig()), grouped = SmallConfig(TinyGroupedConfig("llama"));
  nlohmann::json quantized = grouped;
  quantized["quantization_config"] = {
      {"quant_method", "fp8"}, {"fmt", "e4m3"}, {"weight_block_size", {4, 4}}};
  seeds.Put("model_directory", "latent", Directory(latent, false, false));
  seeds.Put("model_directory", "index", Directory(grouped, true, false));
  seeds.Put("model_directory", "fp8", Directory(quantized, false, true));
  nlohmann::json yarn = TinyGroupedConfig("qwen3");
  yarn["rope_parameters"] = {{"rope_type", "yarn"},
                             {"rope_theta", 1e6},
                             {"factor", 4},
                             {"mscale", 1.0},
                             {"original_max_position_embeddings", 16}};
  yarn.erase("rope_scaling");
  nlohmann::json llama3 = TinyGroupedConfig("llama");
  llama3["rope_scaling"] = {
      {"rope_type", "llama3"}, {"factor", 8}, {"low_freq_factor", 1}, {"high_freq_factor", 4}};
  for (const auto& [name, json] :
       {std::pair("v3", TinyConfig()), {"yarn", yarn}, {"llama3", llama3}, {"fp8", quantized}}) {
    seeds.Put("model_config", name, json.dump());
  }
  seeds.Put("model_config", "generation", grouped.dump() + std::string("\0{\"eos_token_id\": [1]}", 23));
  const float values[6] = {1, 2, 3, 4, 5, 6};
  seeds.Put("safetensors", "two",
            SerializeSafetensors({{"a", TensorFromFloats({2, 3}, values, DType::kF32)},
                                  {"b", TensorFromFloats({3}, values, DType::kBF16)}}));
  seeds.Put("tokenizer", "tiny", TinyTokenizer().dump());
  seeds.Put(
      "chat_template", "chatml",
      "{% for m in messages %}{{ '<|im_start|>' + m['role'] + '\\n' + m.content | trim + '<|im_end|>' }}"
      "{% endfor %}{% if add_generation_prompt %}{{ '<|im_start|>assistant' }}{% endif %}");
}

// Every row of the mathematics suite. Run from the repository's root.
void WriteMath(const Seeds& seeds) {
  for (const math::SuiteRow& row : math::ReadSuite("reward/math/suite/pairs.jsonl")) {
    const std::string name = std::to_string(row.line);
    seeds.Put("math_answer", name, row.answer);
    seeds.Put("math_pair", name, row.gold + "\n" + row.answer);
  }
  for (const math::SuiteRow& row : math::ReadSuite("reward/math/suite/completions.jsonl")) {
    seeds.Put("math_extraction", std::to_string(row.line), row.answer);
  }
}

}  // namespace
}  // namespace sluice

int main(int argc, char** argv) {
  if (argc != 2) {
    std::fprintf(stderr, "usage: fuzz_seeds FOLDER\n");
    return 2;
  }
  sluice::WriteAll(sluice::Seeds(argv[1]));
  sluice::WriteMath(sluice::Seeds(argv[1]));
  return 0;
}
