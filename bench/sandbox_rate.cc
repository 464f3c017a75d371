// Runs per second of one small Python test (that of a plain subprocess benchmark) through the sandbox and
// through the code scorer, beside forks of the same warm interpreter without a sandbox; and what a compile
// costs.
//   sandbox_rate [--count N] [--rounds N] [--workers N] [--compiles N] [--json FILE]
#include <fcntl.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <cstdio>
#include <fstream>
#include <functional>
#include <memory>
#include <string>
#include <thread>
#include <vector>

#include "CLI/CLI.hpp"
#include "absl/strings/str_cat.h"
#include "absl/time/clock.h"
#include "nlohmann/json.hpp"
#include "reward/code/code_scorer.h"

namespace sluice {
namespace {

constexpr char kPrompt[] = "def has_close_elements(numbers, threshold):\n";
constexpr char kBody[] =
    "    for i, a in enumerate(numbers):\n"
    "        for j, b in enumerate(numbers):\n"
    "            if i != j and abs(a - b) < threshold:\n"
    "                return True\n"
    "    return False\n";
constexpr char kCheck[] =
    "def check(candidate):\n"
    "    assert candidate([1.0, 2.0, 3.9, 4.0, 5.0, 2.2], 0.3) == True\n"
    "    assert candidate([1.0, 2.0, 3.9, 4.0, 5.0, 2.2], 0.05) == False\n"
    "    assert candidate([1.0, 2.0, 5.9, 4.0, 5.0], 0.95) == True\n"
    "    assert candidate([1.0, 2.0, 5.9, 4.0, 5.0], 0.8) == False\n"
    "    assert candidate([1.0, 2.0, 3.0, 4.0, 5.0, 2.0], 0.1) == True\n"
    "    assert candidate([1.1, 2.2, 3.1, 4.1, 5.1], 1.0) == True\n"
    "    assert candidate([1.1, 2.2, 3.1, 4.1, 5.1], 0.5) == False\n";

std::string WholeProgram() { return absl::StrCat(kPrompt, kBody, kCheck, "check(has_close_elements)\n"); }

// A fork server without a sandbox.
class PlainForks {
 public:
  PlainForks() {
    int in[2], out[2];
    if (pipe2(in, O_CLOEXEC) != 0 || pipe2(out, O_CLOEXEC) != 0) abort();
    pid_ = fork();
    if (pid_ == 0) {
      dup2(in[0], 0);
      dup2(out[1], 1);
      execl("/usr/bin/python3", "python3", "-I", "-S", SLUICE_SOURCE_DIR "/bench/fork_server.py",
            SLUICE_SOURCE_DIR "/reward/sandbox/jail/zygote.py", nullptr);
      _exit(127);
    }
    close(in[0]);
    close(out[1]);
    to_ = in[1];
    from_ = fdopen(out[0], "r");
  }
  ~PlainForks() {
    close(to_);
    fclose(from_);
    waitpid(pid_, nullptr, 0);
  }
  bool Run(const std::string& source) {
    std::string order = absl::StrCat(source.size(), "\n", source);
    int status = -1;
    return write(to_, order.data(), order.size()) == static_cast<ssize_t>(order.size()) &&
           fscanf(from_, "%d", &status) == 1 && status == 0;
  }

 private:
  pid_t pid_ = -1;
  int to_ = -1;
  FILE* from_ = nullptr;
};

bool RunInBox(Sandbox& sandbox, const std::string& source) {
  auto box = sandbox.Open(absl::Now() + absl::Seconds(30));
  if (!box.ok()) return false;
  RunRequest request;
  request.python_source = source;
  auto run = (*box)->Start(request);
  if (!run.ok()) return false;
  RunResult result = (*run)->Wait();
  return result.end == RunEnd::kExited && result.exit_code == 0;
}

class Scored {
 public:
  Scored(CodeScorerSpec spec, std::shared_ptr<CodeRunner> runner) {
    auto scorer = CodeItemScorer::Create(spec, std::move(runner));
    if (scorer.ok()) scorer_ = *std::move(scorer);
  }
  bool Run(std::string completion, nlohmann::json tests) const {
    ScoreItem item;
    item.completion = std::move(completion);
    item.fields["tests"] = tests.dump();
    return scorer_ != nullptr && scorer_->Judge(item).kind == VerdictKind::kCorrect;
  }

 private:
  std::unique_ptr<ItemScorer> scorer_;
};

CodeScorerSpec Spec(CodeLanguage language, CodeTests tests) {
  CodeScorerSpec spec;
  spec.language = language;
  spec.tests = tests;
  return spec;
}

struct Round {
  double rate = 0;
  std::vector<double> milliseconds;
  int failures = 0;
};

// `action(worker)` `count` times in all by so many workers.
Round Measure(int workers, int count, const std::function<bool(int)>& action) {
  std::atomic<int> left{count}, failures{0};
  std::vector<std::vector<double>> times(static_cast<size_t>(workers));
  const absl::Time start = absl::Now();
  std::vector<std::thread> threads;
  for (int w = 0; w < workers; ++w) {
    threads.emplace_back([&, w] {
      while (left-- > 0) {
        const absl::Time begin = absl::Now();
        failures += !action(w);
        times[static_cast<size_t>(w)].push_back(absl::ToDoubleMilliseconds(absl::Now() - begin));
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  Round round;
  round.rate = count / absl::ToDoubleSeconds(absl::Now() - start);
  round.failures = failures;
  for (const auto& part : times)
    round.milliseconds.insert(round.milliseconds.end(), part.begin(), part.end());
  return round;
}

struct Mode {
  std::string name;
  int workers, count;
  std::function<bool(int)> action;
  std::vector<Round> rounds;
};

double At(std::vector<double> values, double share) {
  std::sort(values.begin(), values.end());
  return values[std::min(values.size() - 1, static_cast<size_t>(share * static_cast<double>(values.size())))];
}

nlohmann::json Row(const Mode& mode) {
  std::vector<double> rates, times;
  int failures = 0;
  for (const Round& round : mode.rounds) {
    rates.push_back(round.rate);
    times.insert(times.end(), round.milliseconds.begin(), round.milliseconds.end());
    failures += round.failures;
  }
  nlohmann::json row = {{"mode", mode.name},         {"workers", mode.workers}, {"per_s", At(rates, 0.5)},
                        {"min", At(rates, 0)},       {"max", At(rates, 1)},     {"p50_ms", At(times, 0.5)},
                        {"p99_ms", At(times, 0.99)}, {"failures", failures}};
  printf("| %s | %d | %.1f [%.1f-%.1f] | %.2f | %.2f | %d |\n", mode.name.c_str(), mode.workers,
         At(rates, 0.5), At(rates, 0), At(rates, 1), At(times, 0.5), At(times, 0.99), failures);
  return row;
}

std::string CppProgram(int number) {
  return absl::StrCat(
      "#include <bits/stdc++.h>\nusing namespace std;\nint main() {\n  int a, b;\n  cin >> a >> b;\n"
      "  map<int, string> m{{a, \"x\"}};\n  cout << a + b << \"\\n\";\n  return m.size() == ",
      number, ";\n}\n");
}

// As the scorer compiles, without sandbox and precompiled header.
bool CompilePlain(const std::string& folder, int number) {
  std::string source = folder + "/p.cc";
  std::ofstream(source) << CppProgram(number);
  return system(absl::StrCat("g++ -std=c++17 -O2 -pipe -w -o ", folder, "/p ", source).c_str()) == 0;
}

struct Options {
  int count = 400, rounds = 5, workers = 2, compiles = 3;
  std::string json;
};

int Main(const Options& options) {
  SandboxOptions sandbox_options;
  AddCodeHarness(sandbox_options);
  auto sandbox = Sandbox::Create(sandbox_options);
  if (!sandbox.ok()) return fprintf(stderr, "%s\n", sandbox.status().ToString().c_str()), 1;
  auto runner = MakeCodeRunner(**sandbox, {});
  if (!runner.ok()) return fprintf(stderr, "%s\n", runner.status().ToString().c_str()), 1;

  std::vector<std::unique_ptr<PlainForks>> forks;
  for (int w = 0; w < options.workers; ++w) forks.push_back(std::make_unique<PlainForks>());
  const std::string program = WholeProgram();
  const Scored human_eval(Spec(CodeLanguage::kPython, CodeTests::kHumanEval), *runner),
      stdio(Spec(CodeLanguage::kPython, CodeTests::kStdio), *runner),
      cpp(Spec(CodeLanguage::kCpp, CodeTests::kStdio), *runner);
  const nlohmann::json human_eval_tests = {{"prompt", kPrompt},
                                           {"test", kCheck},
                                           {"entry_point", "has_close_elements"}},
                       stdio_tests = {{{"stdin", ""}, {"expected_stdout", ""}}},
                       many_tests = nlohmann::json(8, stdio_tests.front()),
                       sum_tests = {{{"stdin", "1 2\n"}, {"expected_stdout", "3\n"}}};
  char folder[] = "/tmp/sandbox_rate_XXXXXX";
  if (mkdtemp(folder) == nullptr) return 1;
  std::atomic<int> number{static_cast<int>(absl::ToUnixSeconds(absl::Now()) % 1000000) * 1000};

  auto plain = [&](int w) { return forks[static_cast<size_t>(w)]->Run(program); };
  auto boxed = [&](int) { return RunInBox(**sandbox, program); };
  auto scored_stdio = [&](int) { return stdio.Run(program, stdio_tests); };
  auto scored_many = [&](int) { return stdio.Run(program, many_tests); };
  auto scored_human_eval = [&](int) { return human_eval.Run(kBody, human_eval_tests); };
  auto compiled = [&](int) { return cpp.Run(CppProgram(number++), sum_tests); };
  auto compiled_plain = [&](int) { return CompilePlain(folder, number++); };
  if (!plain(0) || !boxed(0) || !scored_stdio(0) || !scored_human_eval(0) || !compiled(0))
    fprintf(stderr, "the first runs fail\n");

  std::vector<Mode> modes;
  for (int workers : {1, options.workers}) {
    modes.push_back({"fork of the warm interpreter, no sandbox", workers, options.count, plain, {}});
    modes.push_back({"sandbox: a box, one run", workers, options.count, boxed, {}});
    modes.push_back({"scorer, STDIO: one process a test", workers, options.count, scored_stdio, {}});
    modes.push_back({"scorer, STDIO: eight tests", workers, options.count / 8, scored_many, {}});
    modes.push_back(
        {"scorer, HUMANEVAL: two processes a test", workers, options.count, scored_human_eval, {}});
  }
  modes.push_back({"plain g++, bits/stdc++.h", 1, options.compiles, compiled_plain, {}});
  modes.push_back({"scorer, C++: compile miss and one test", 1, options.compiles, compiled, {}});
  for (int round = 0; round < options.rounds; ++round) {
    for (Mode& mode : modes) mode.rounds.push_back(Measure(mode.workers, mode.count, mode.action));
  }
  printf(
      "| mode | workers | a second, median [min-max] | p50 ms | p99 ms | failures "
      "|\n|---|---|---|---|---|---|\n");
  nlohmann::json rows;
  for (const Mode& mode : modes) rows.push_back(Row(mode));
  if (!options.json.empty()) std::ofstream(options.json) << rows.dump(1) << "\n";
  return system(absl::StrCat("rm -rf ", folder).c_str()) == 0 ? 0 : 1;
}

}  // namespace
}  // namespace sluice

int main(int argc, char** argv) {
  signal(SIGPIPE, SIG_IGN);
  CLI::App app("Measures the sandbox's rates");
  sluice::Options options;
  app.add_option("--count", options.count, "Runs of a round and mode")->check(CLI::Range(1, 1000000));
  app.add_option("--rounds", options.rounds, "Rounds over all modes")->check(CLI::Range(1, 1000));
  app.add_option("--workers", options.workers, "At once")->check(CLI::Range(1, 64));
  app.add_option("--compiles", options.compiles, "Compiles of a round")->check(CLI::Range(1, 1000));
  app.add_option("--json", options.json, "Also write the rows here");
  CLI11_PARSE(app, argc, argv);
  return sluice::Main(options);
}
