#include "services/learner/score_file.h"

#include <algorithm>
#include <cstdio>
#include <memory>
#include <vector>

#include "CLI/CLI.hpp"
#include "absl/strings/ascii.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/string_view.h"
#include "core/base/file.h"
#include "core/base/status.h"
#include "core/spec/text/json_rows.h"
#include "learner/score.h"
#include "nlohmann/json.hpp"

namespace sluice {
namespace {

using Json = nlohmann::json;

absl::StatusOr<std::vector<int32_t>> TokensOf(const Json& row) {
  const auto tokens = row.find("tokens");
  if (tokens == row.end()) return absl::InvalidArgumentError("\"tokens\" is missing");
  if (!tokens->is_array() || tokens->empty())
    return absl::InvalidArgumentError("\"tokens\" must be a list of at least one token id");
  std::vector<int32_t> out;
  for (const Json& token : *tokens) {
    if (!token.is_number_integer() || token < 0 || token > INT32_MAX) {
      return absl::InvalidArgumentError(absl::StrCat("\"tokens\" has no token id at place ", out.size()));
    }
    out.push_back(token.get<int32_t>());
  }
  return out;
}

absl::StatusOr<std::vector<float>> ScoreRow(const absl::StatusOr<Json>& row, TokenScorer& scorer) {
  if (!row.ok()) return row.status();
  SLUICE_ASSIGN_OR_RETURN(const std::vector<int32_t> tokens, TokensOf(*row));
  if (tokens.size() == 1) return std::vector<float>();
  return scorer.Score(tokens);
}

}  // namespace

absl::StatusOr<ScoreFileOutcome> ScoreFile(const ScoreFileOptions& options) {
  SLUICE_ASSIGN_OR_RETURN(const std::string text, ReadFile(options.input));
  SLUICE_ASSIGN_OR_RETURN(const std::unique_ptr<TokenScorer> scorer,
                          TokenScorer::Open(options.model, options.dtype, options.threads));
  std::string out;
  ScoreFileOutcome outcome;
  int number = 0;
  for (size_t begin = 0; begin < text.size();) {
    const size_t end = std::min(text.find('\n', begin), text.size());
    const absl::string_view line =
        absl::StripAsciiWhitespace(absl::string_view(text).substr(begin, end - begin));
    begin = end + 1;
    ++number;
    if (line.empty()) continue;
    const absl::StatusOr<Json> row = ParseJsonRow(line);
    const absl::StatusOr<std::vector<float>> logprobs = ScoreRow(row, *scorer);
    const int index = outcome.rows++;
    nlohmann::ordered_json result;
    if (row.ok() && row->contains("id")) {
      result["id"] = row->at("id");
    } else if (logprobs.ok()) {
      result["id"] = index;
    }
    if (logprobs.ok()) {
      result["logprobs"] = *logprobs;
    } else {
      result["error"] = std::string(logprobs.status().message());
      result["line"] = number;
      if (outcome.failed++ == 0)
        outcome.first_error = Annotate(logprobs.status(), absl::StrCat(options.input, ": line ", number));
    }
    absl::StrAppend(&out, result.dump(-1, ' ', false, Json::error_handler_t::replace), "\n");
  }
  SLUICE_RETURN_IF_ERROR(WriteFileAtomically(options.output, out));
  return outcome;
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
  const absl::StatusOr<ScoreFileOutcome> outcome = ScoreFile(options);
  if (!outcome.ok()) {
    std::fprintf(stderr, "sluice-learner: %s\n", std::string(outcome.status().message()).c_str());
    return absl::IsInvalidArgument(outcome.status()) || absl::IsNotFound(outcome.status()) ? 2 : 1;
  }
  if (outcome->failed == 0) return 0;
  std::fprintf(stderr, "sluice-learner: %d of %d rows failed; the first: %s\n", outcome->failed,
               outcome->rows, std::string(outcome->first_error.message()).c_str());
  return 1;
}

}  // namespace sluice
