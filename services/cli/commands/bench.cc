// sluice bench engine: hands over to sluice-rollout, which has the engine.
#include <unistd.h>

#include <cerrno>
#include <filesystem>
#include <string>
#include <vector>

#include "CLI/CLI.hpp"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "core/base/file.h"
#include "core/base/status.h"
#include "services/cli/command.h"
#include "services/cli/exit_code.h"
#include "services/cli/supervisor/process.h"

namespace sluice::cli {
namespace {

struct BenchOptions {
  std::string subject, model, batch = "1,8,32,64", dtype = "bf16";
  int64_t prompt = 128, new_tokens = 128, group = 0, cache_mib = 0, seed = 1;
  int threads = 0, runs = 3;
  bool json = false;
};

std::vector<std::string> CommandOf(const std::string& binary, const BenchOptions& o) {
  std::vector<std::string> out = {binary,     "bench",
                                  "--model",  o.model,
                                  "--dtype",  o.dtype,
                                  "--batch",  o.batch,
                                  "--prompt", absl::StrCat(o.prompt),
                                  "--new",    absl::StrCat(o.new_tokens),
                                  "--runs",   absl::StrCat(o.runs),
                                  "--seed",   absl::StrCat(o.seed)};
  const auto add = [&out](const char* flag, int64_t value) {
    if (value > 0) out.insert(out.end(), {flag, absl::StrCat(value)});
  };
  add("--group", o.group);
  add("--threads", o.threads);
  add("--cache-mib", o.cache_mib);
  if (o.json) out.push_back("--json");
  return out;
}

// What is wrong with a list like "1,8,32"; empty: nothing.
std::string NotSizes(const std::string& list) {
  for (absl::string_view size : absl::StrSplit(list, ',')) {
    int64_t value = 0;
    if (!absl::SimpleAtoi(size, &value) || value < 1 || value > 4096)
      return absl::StrCat("\"", size, "\" is not a size of 1 to 4096: write --batch 1,8,32");
  }
  return "";
}

// Returns only on an error: the process becomes sluice-rollout, with this one's terminal and signals.
absl::Status HandOver(const BenchOptions& o) {
  if (!std::filesystem::is_directory(o.model))
    return absl::InvalidArgumentError(absl::StrCat("--model ", o.model, ": there is no such directory"));
  SLUICE_ASSIGN_OR_RETURN(const std::string binary, SiblingBinary("sluice-rollout"));
  std::vector<std::string> command = CommandOf(binary, o);
  std::vector<char*> argv;
  for (std::string& argument : command) argv.push_back(argument.data());
  argv.push_back(nullptr);
  execv(binary.c_str(), argv.data());
  return ErrnoStatus(errno, absl::StrCat("starting ", binary));
}

}  // namespace

void AddBenchCommand(CommandLine& line) {
  line.Add<BenchOptions>(
      "bench",
      "Measures the rollout engine on a model, on this machine.\n"
      "  sluice bench engine --model DIR --prompt 128 --new 128 --batch 1,8,32,64 --dtype bf16 --json\n"
      "Sampling is on (temperature 1, end-of-sequence ignored); every sequence has random prompt tokens of "
      "its "
      "own.\n"
      "For each batch, the median of the runs, and below it the least and the most: prefill = prompt tokens "
      "per second of\n"
      "prompts alone; decode = new tokens per second while all sequences have their first token and none is "
      "finished; e2e = new\n"
      "tokens over the whole time. A run whose decode window held less than half of the tokens has no decode "
      "rate; how many have\n"
      "one is said. Latencies are of one more run. \"beyond\" is what is resident beyond the model's "
      "weights and the\n"
      "cache in use. Shares are of the matrix peak and the read bandwidth that this machine reached in the "
      "same "
      "run.\n"
      "--json: the last line of standard output is "
      "{\"rows\":[{\"batch\",\"prefill_tps\",\"decode_tps\",...}],"
      "...}; progress goes to\n"
      "standard error. --group N instead of batches: N completions of one prompt beside one, to see that the "
      "prompt is paid once.",
      [](CLI::App& command, BenchOptions& o) {
        command.add_option("subject", o.subject, "What to measure")
            ->required()
            ->check(CLI::IsMember({"engine"}));
        command.add_option("--model", o.model, "Hugging Face directory")->required();
        command.add_option("--prompt", o.prompt, "Tokens of each prompt")
            ->capture_default_str()
            ->check(CLI::Range(1, 1 << 20));
        command.add_option("--new", o.new_tokens, "Tokens sampled for each")
            ->capture_default_str()
            ->check(CLI::Range(2, 1 << 20));
        auto* batch = command.add_option("--batch", o.batch, "Sequences at once, separated by commas")
                          ->capture_default_str()
                          ->check(CLI::Validator(NotSizes, "SIZES"));
        command.add_option("--group", o.group, "Completions of one prompt, instead of batches")
            ->check(CLI::Range(2, 4096))
            ->excludes(batch);
        command.add_option("--dtype", o.dtype, "What weights are rounded to")
            ->capture_default_str()
            ->check(CLI::IsMember({"bf16", "fp32"}));
        command.add_option("--threads", o.threads, "Threads that compute (default: the machine's)")
            ->check(CLI::Range(1, 1024));
        command.add_option("--runs", o.runs, "Runs of each, of which the median is taken")
            ->capture_default_str()
            ->check(CLI::Range(1, 1000));
        command
            .add_option("--cache-mib", o.cache_mib,
                        "Limit of the cache, MiB (default: what the largest batch needs)")
            ->check(CLI::Range(1, 1 << 22));
        command.add_option("--seed", o.seed, "Of the prompts")->capture_default_str();
        command.add_flag("--json", o.json, "For programs");
      },
      [](const BenchOptions& o) { return Report(HandOver(o)); });
}

}  // namespace sluice::cli
