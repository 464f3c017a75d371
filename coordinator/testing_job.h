// A small job and its files for the coordinator's tests.
#pragma once

#include <filesystem>
#include <fstream>
#include <memory>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "coordinator/prompts/prompt_encoder.h"
#include "core/rl/job_spec.h"
#include "gtest/gtest.h"

namespace sluice {

// A folder of its own for a test, removed at the end.
class TestFolder {
 public:
  explicit TestFolder(const std::string& name) {
    std::string pattern = absl::StrCat(testing::TempDir(), "sluice_", name, "_XXXXXX");
    path_ = mkdtemp(pattern.data());
  }
  ~TestFolder() {
    std::error_code ignored;
    std::filesystem::remove_all(path_, ignored);
  }
  TestFolder(const TestFolder&) = delete;
  TestFolder& operator=(const TestFolder&) = delete;
  const std::string& path() const { return path_; }
  std::string Write(const std::string& name, const std::string& text) const {
    const std::string file = absl::StrCat(path_, "/", name);
    std::ofstream(file, std::ios::binary) << text;
    return file;
  }

 private:
  std::string path_;
};

// A token for each byte.
class BytesEncoder final : public PromptEncoder {
 public:
  absl::StatusOr<std::vector<int32_t>> Encode(absl::string_view text) const override {
    std::vector<int32_t> out;
    for (char c : text) out.push_back(static_cast<unsigned char>(c) % 97);
    return out;
  }
  absl::StatusOr<std::string> RenderChat(const std::vector<PromptMessage>& messages) const override {
    std::string out;
    for (const PromptMessage& message : messages)
      absl::StrAppend(&out, "<", message.role, ">", message.content);
    return out + "<assistant>";
  }
  int64_t max_positions() const override { return 256; }
  int32_t eos_token() const override { return 99; }
};

inline absl::StatusOr<std::unique_ptr<const PromptEncoder>> MakeBytesEncoder(const JobSpec&) {
  return std::make_unique<BytesEncoder>();
}

// Four groups of four a step, bound 2, five steps.
inline JobSpec SmallJob(const TestFolder& folder) {
  JobSpec spec;
  spec.name = "Small job";
  spec.seed = 7;
  spec.model.path = "unused";
  std::string rows;
  for (int i = 0; i < 30; ++i) {
    absl::StrAppend(&rows, "{\"prompt\": \"what is ", i, "\", \"answer\": \"", i, "\", \"kind\": \"",
                    i % 2 == 0 ? "even" : "odd", "\"}\n");
  }
  spec.prompts.file = folder.Write("small.jsonl", rows);
  spec.prompts.max_tokens = 64;
  spec.sampling.group_size = 4;
  spec.sampling.params.max_new_tokens = 6;
  spec.reward.components = {{"answer", 1, MathScorerSpec{}}};
  spec.batch.groups_per_step = 4;
  spec.staleness.max_versions = 2;
  spec.checkpoint.every_steps = 2;
  spec.stop_steps = 5;
  return spec;
}

}  // namespace sluice
