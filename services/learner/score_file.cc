#include "services/learner/score_file.h"

#include <cstdio>
#include <memory>
#include <vector>

#include "CLI/CLI.hpp"
#include "absl/strings/str_cat.h"
#include "absl/strings/string_view.h"
#include "core/base/file.h"
#include "core/base/status.h"
#include "learner/score.h"
#include "nlohmann/json.hpp"

namespace sluice {
namespace {

struct Row {
  nlohmann::json id;
  std::vector<int32_t> tokens;
};

absl::StatusOr<Row> ParseRow(absl::string_view line) {
  nlohmann::json json = nlohmann::json::parse(line.begin(), line.end(), nullptr, false);
  if (json.is_discarded() || !json.is_object()) return absl::InvalidArgumentError("not a JSON object");
  auto id = json.find("id");
  auto tokens = json.find("tokens");
  if (id == json.end()) return absl::InvalidArgumentError("the field \"id\" is missing");
  if (tokens == json.end() || !tokens->is_array())
    return absl::InvalidArgumentError("\"tokens\" is not a list");
  Row row;
  row.id = *id;
  for (const auto& token : *tokens) {
    if (!token.is_number_integer() || token < 0 || token > INT32_MAX) {
      return absl::InvalidArgumentError("\"tokens\" holds what is no token id");
    }
    row.tokens.push_back(token.get<int32_t>());
  }
  return row;
}

}  // namespace

absl::Status ScoreFile(const ScoreFileOptions& options) {
  SLUICE_ASSIGN_OR_RETURN(const std::string text, ReadFile(options.input));
  SLUICE_ASSIGN_OR_RETURN(const std::unique_ptr<TokenScorer> scorer,
                          TokenScorer::Open(options.model, options.dtype, options.threads));
  std::string out;
  int number = 0;
  for (size_t begin = 0; begin < text.size();) {
    size_t end = std::min(text.find('\n', begin), text.size());
    absl::string_view line = absl::string_view(text).substr(begin, end - begin);
    begin = end + 1;
    ++number;
    if (line.find_first_not_of(" \t\r") == absl::string_view::npos) continue;
    std::string where = absl::StrCat(options.input, ":", number);
    auto row = ParseRow(line);
    if (!row.ok()) return Annotate(row.status(), where);
    std::vector<float> logprobs;
    if (row->tokens.size() > 1) {
      auto scored = scorer->Score(row->tokens);
      if (!scored.ok()) return Annotate(scored.status(), where);
      logprobs = *std::move(scored);
    }
    absl::StrAppend(&out, nlohmann::json{{"id", row->id}, {"logprobs", logprobs}}.dump(), "\n");
  }
  return WriteFileAtomically(options.output, out);
}

int ScoreFileMain(int argc, char** argv) {
  ScoreFileOptions options;
  std::string dtype = "bf16";
  CLI::App app("Log-probabilities of given tokens by the learner's forward.", "sluice-learner");
  app.add_option("--score-model", options.model, "Hugging Face directory")->required();
  app.add_option("--dtype", dtype, "bf16 or fp32")
      ->check(CLI::IsMember({"bf16", "fp32"}))
      ->capture_default_str();
  app.add_option("--input", options.input, "JSON Lines {\"id\", \"tokens\"}")->required();
  app.add_option("--output", options.output, "JSON Lines {\"id\", \"logprobs\"}")->required();
  app.add_option("--threads", options.threads, "Threads that compute")->check(CLI::Range(1, 1024));
  try {
    app.parse(argc, argv);
  } catch (const CLI::ParseError& error) {
    return app.exit(error) == 0 ? 0 : 2;
  }
  options.dtype = dtype == "fp32" ? ModelDtype::kF32 : ModelDtype::kBF16;
  const absl::Status status = ScoreFile(options);
  if (status.ok()) return 0;
  std::fprintf(stderr, "sluice-learner: %s\n", std::string(status.message()).c_str());
  return absl::IsInvalidArgument(status) || absl::IsNotFound(status) ? 2 : 1;
}

}  // namespace sluice
