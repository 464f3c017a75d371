// The real sandbox and a runner for tests of this folder, one pair for a whole test program.
#pragma once

#include <unistd.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "gtest/gtest.h"
#include "nlohmann/json.hpp"
#include "reward/code/code_scorer.h"
#include "reward/sandbox/sandbox.h"

namespace sluice {

class CodeTestBench {
 public:
  static CodeTestBench& Get() {
    static CodeTestBench bench;
    return bench;
  }
  ~CodeTestBench() { std::filesystem::remove_all(folder_); }
  Sandbox& sandbox() { return *sandbox_; }

  ItemJudgement Judge(const CodeScorerSpec& spec, const std::string& completion,
                      std::map<std::string, std::string> fields, std::string prompt = "") {
    return JudgeWithin(spec, {std::move(prompt), completion, std::move(fields)}, {});
  }
  ItemJudgement JudgeWithin(const CodeScorerSpec& spec, const ScoreItem& item, const JudgeLimits& limits) {
    auto scorer = CodeItemScorer::Create(spec, runner_);
    EXPECT_TRUE(scorer.ok()) << scorer.status();
    return (*scorer)->JudgeWithin(item, limits);
  }

 private:
  CodeTestBench() {
    SandboxOptions options;
    options.max_boxes = 5;
    AddCodeHarness(options);
    auto sandbox = Sandbox::Create(options);
    if (!sandbox.ok()) {
      ADD_FAILURE() << "no sandbox on this machine: " << sandbox.status();
      abort();
    }
    sandbox_ = *std::move(sandbox);
    CodeScorerOptions runner_options;
    runner_options.cache_directory = folder_ = mkdtemp(folder_.data());
    runner_ = *MakeCodeRunner(*sandbox_, runner_options);
  }
  std::string folder_ = "/tmp/sluice-code-test.XXXXXX";
  std::unique_ptr<Sandbox> sandbox_;
  std::shared_ptr<CodeRunner> runner_;
};

// A row's members as a scorer sees them: strings as they are, the rest as JSON.
inline std::map<std::string, std::string> FieldsOf(const nlohmann::json& row) {
  std::map<std::string, std::string> fields;
  for (const auto& [name, value] : row.items())
    fields[name] = value.is_string() ? value.get<std::string>() : value.dump();
  return fields;
}

inline std::vector<nlohmann::json> RowsOf(const std::string& path) {
  std::ifstream in(path);
  std::vector<nlohmann::json> rows;
  for (std::string line; std::getline(in, line);) rows.push_back(nlohmann::json::parse(line));
  return rows;
}

// /work/shared/data beside a checkout, or SLUICE_DATA_DIR; empty: they are not here.
inline std::string DataFolder() {
  const char* set = std::getenv("SLUICE_DATA_DIR");
  std::string folder = set != nullptr ? set : SLUICE_SOURCE_DIR "/../shared/data";
  return access(folder.c_str(), R_OK) == 0 ? folder : "";
}

}  // namespace sluice
