// Many mixed runs through the code scorer and the sandbox, a share of them hostile: nothing may be lost,
// wrongly judged, left behind or kept in memory. sandbox_soak [--runs N] [--hostile SHARE] [--seed N]
#include <dirent.h>
#include <sys/prctl.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <cstdio>
#include <filesystem>
#include <fstream>
#include <map>
#include <mutex>
#include <random>
#include <set>
#include <thread>

#include "CLI/CLI.hpp"
#include "absl/strings/match.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "core/base/heap.h"
#include "reward/code/code_scorer.h"
#include "tests/sandbox/code_corpus.h"

namespace sluice {
namespace {

struct Job {
  CodeCase row;
  bool hostile = false;
};

// Rows that end soon; C++ only compiled once, the cache holds it.
std::vector<Job> BenignJobs() {
  std::vector<Job> jobs;
  for (CodeCase& row : BenignCases()) jobs.push_back({std::move(row), false});
  return jobs;
}

std::vector<Job> HostileJobs() {
  std::vector<Job> jobs;
  for (const char* file :
       {"01_exit_before_the_tests.py", "02_skipped_or_interrupted.py", "03_always_equal.py",
        "05_overwrites_the_harness.py", "08_outlives_the_run.py", "10_protocol.py"}) {
    for (const Hack& hack : ReadHacks(file)) {
      for (CodeTests form :
           {CodeTests::kAsserts, CodeTests::kStdio, CodeTests::kFunction, CodeTests::kHumanEval}) {
        jobs.push_back({HackCase(hack, CodeLanguage::kPython, form), true});
      }
    }
  }
  for (const Hack& hack : ReadHacks("cpp_programs.txt")) {
    jobs.push_back({HackCase(hack, CodeLanguage::kCpp, CodeTests::kStdio), true});
  }
  return jobs;
}

// Of this process and all its descendants.
struct Usage {
  int64_t resident = 0, own_resident = 0;  // bytes; pages shared between processes count in each
  int processes = 0, zombies = 0, descriptors = 0;
};

int64_t StatusBytes(const std::string& pid, const char* key) {
  std::ifstream in(absl::StrCat("/proc/", pid, "/status"));
  for (std::string line; std::getline(in, line);) {
    int64_t kilobytes = 0;
    if (absl::StartsWith(line, key) && sscanf(line.c_str() + strlen(key), ": %ld", &kilobytes) == 1)
      return kilobytes << 10;
  }
  return 0;
}

std::vector<std::string> Names(const std::string& folder) {
  std::vector<std::string> out;
  DIR* directory = opendir(folder.c_str());
  if (directory == nullptr) return out;
  while (dirent* entry = readdir(directory)) {
    if (entry->d_name[0] != '.') out.push_back(entry->d_name);
  }
  closedir(directory);
  return out;
}

Usage Measure() {
  std::map<int, std::pair<int, char>> all;  // parent, state
  for (const std::string& name : Names("/proc")) {
    int pid, parent;
    char state;
    if (!absl::SimpleAtoi(name, &pid)) continue;
    std::ifstream in(absl::StrCat("/proc/", name, "/stat"));
    std::string text;
    std::getline(in, text);
    size_t end = text.rfind(')');
    if (end != std::string::npos && sscanf(text.c_str() + end, ") %c %d", &state, &parent) == 2) {
      all[pid] = {parent, state};
    }
  }
  Usage usage;
  std::set<int> family = {getpid()};
  for (size_t before = 0; before != family.size();) {
    before = family.size();
    for (const auto& [pid, process] : all) {
      if (family.count(process.first)) family.insert(pid);
    }
  }
  for (int pid : family) {
    usage.resident += StatusBytes(absl::StrCat(pid), "RssAnon");
    ++usage.processes;
    usage.zombies += all[pid].second == 'Z';
    usage.descriptors += static_cast<int>(Names(absl::StrCat("/proc/", pid, "/fd")).size());
  }
  usage.own_resident = StatusBytes(absl::StrCat(getpid()), "RssAnon");
  return usage;
}

class Soak {
 public:
  Soak(std::shared_ptr<CodeRunner> runner, double hostile_share, uint64_t seed)
      : runner_(std::move(runner)),
        hostile_share_(hostile_share),
        random_(seed),
        benign_(BenignJobs()),
        hostile_(HostileJobs()) {}

  // Two workers, `count` runs.
  void Run(int count) {
    std::atomic<int> left{count};
    auto work = [&] {
      while (left-- > 0) JudgeOne();
    };
    std::thread other(work);
    work();
    other.join();
  }

  // Every benign program once, so that what is kept warm is there.
  void Warm() {
    std::atomic<size_t> next{0};
    auto work = [&] {
      for (size_t i; (i = next++) < benign_.size();) Judge(benign_[i]);
    };
    std::thread other(work);
    work();
    other.join();
  }

  int judged() const { return judged_; }
  int hostile() const { return hostile_judged_; }
  int wrong() const { return wrong_; }

 private:
  const Job& Draw() {
    std::lock_guard lock(mutex_);
    const std::vector<Job>& pool =
        std::uniform_real_distribution<>()(random_) < hostile_share_ ? hostile_ : benign_;
    return pool[random_() % pool.size()];
  }

  ItemJudgement Judge(const Job& job) {
    auto scorer = CodeItemScorer::Create(job.row.spec, runner_);
    return scorer.ok() ? (*scorer)->Judge(job.row.item) : Infrastructure(scorer.status().ToString());
  }

  void JudgeOne() {
    const Job& job = Draw();
    ItemJudgement judgement = Judge(job);
    bool right = judgement.kind == (job.hostile ? VerdictKind::kWrong : VerdictKind::kCorrect);
    std::lock_guard lock(mutex_);
    ++judged_;
    hostile_judged_ += job.hostile;
    if (right) return;
    ++wrong_;
    if (wrong_ <= 20)
      fprintf(stderr, "%s: %s, %s\n", job.row.name.c_str(), judgement.outcome.c_str(),
              judgement.detail.c_str());
  }

  std::shared_ptr<CodeRunner> runner_;
  const double hostile_share_;
  std::mutex mutex_;
  std::mt19937_64 random_;
  const std::vector<Job> benign_, hostile_;
  int judged_ = 0, hostile_judged_ = 0, wrong_ = 0;
};

void PrintRow(const Soak& soak, const Usage& usage, absl::Duration elapsed) {
  printf("| %d | %d | %d | %.1f | %.1f | %d | %d | %d | %.0f |\n", soak.judged(), soak.hostile(),
         soak.wrong(), static_cast<double>(usage.own_resident) / (1 << 20),
         static_cast<double>(usage.resident) / (1 << 20), usage.processes, usage.descriptors, usage.zombies,
         absl::ToDoubleSeconds(elapsed));
  fflush(stdout);
}

// Allocators keep some pages; a leak grows with the runs.
constexpr int64_t kAllowedGrowth = int64_t{24} << 20;

// Every place has its process from then on.
void OpenAll(Sandbox& sandbox, int places) {
  std::vector<std::unique_ptr<SandboxBox>> boxes;
  for (int i = 0; i < places; ++i) {
    auto box = sandbox.Open(absl::Now() + absl::Seconds(20));
    if (box.ok()) boxes.push_back(*std::move(box));
  }
}

// A folder that goes with the process.
class TemporaryFolder {
 public:
  TemporaryFolder() {
    if (mkdtemp(name_.data()) == nullptr) name_.clear();
  }
  ~TemporaryFolder() {
    std::error_code ignored;
    std::filesystem::remove_all(name_, ignored);
  }
  const std::string& name() const { return name_; }

 private:
  std::string name_ = "/tmp/sandbox_soak_XXXXXX";
};

int Main(int runs, double hostile_share, uint64_t seed) {
  prctl(PR_SET_CHILD_SUBREAPER, 1);
  SandboxOptions sandbox_options;
  AddCodeHarness(sandbox_options);
  auto sandbox = Sandbox::Create(sandbox_options);
  if (!sandbox.ok()) return fprintf(stderr, "%s\n", sandbox.status().ToString().c_str()), 1;
  TemporaryFolder cache;
  CodeScorerOptions options;
  options.cache_directory = cache.name();
  auto runner = MakeCodeRunner(**sandbox, options);
  if (!runner.ok()) return fprintf(stderr, "%s\n", runner.status().ToString().c_str()), 1;
  OpenAll(**sandbox, sandbox_options.max_boxes);
  Soak soak(*runner, hostile_share, seed);
  soak.Warm();
  soak.Run(runs / 10);
  const int warmed = soak.judged();
  const absl::Time start = absl::Now();
  printf(
      "| runs | hostile | wrongly judged | anonymous MiB, service | with its jail | processes | descriptors "
      "| zombies | s |\n"
      "|---|---|---|---|---|---|---|---|---|\n");
  Usage usual = Measure();  // the most of the first rows: what is kept warm comes and goes
  PrintRow(soak, usual, absl::ZeroDuration());
  Usage after;
  constexpr int kRows = 10, kUsualRows = 3;
  for (int row = 0; row < kRows; ++row) {
    soak.Run((runs - warmed) / kRows + (row == 0 ? (runs - warmed) % kRows : 0));
    after = Measure();
    PrintRow(soak, after, absl::Now() - start);
    if (row >= kUsualRows) continue;
    usual.resident = std::max(usual.resident, after.resident);
    usual.descriptors = std::max(usual.descriptors, after.descriptors);
    usual.processes = std::max(usual.processes, after.processes);
  }
  bool flat = after.resident - usual.resident < kAllowedGrowth && after.descriptors <= usual.descriptors &&
              after.processes <= usual.processes && after.zombies == 0;
  bool complete = soak.judged() == std::max(runs, warmed) && soak.wrong() == 0;
  printf("%s, %s\n", flat ? "nothing grew" : "SOMETHING GREW",
         complete ? "no sample lost or wrongly judged" : "SAMPLES LOST OR WRONGLY JUDGED");
  return flat && complete ? 0 : 1;
}

}  // namespace
}  // namespace sluice

int main(int argc, char** argv) {
  sluice::ReturnLargeBlocks();  // as the reward service does
  CLI::App app("Soaks the sandbox");
  int runs = 20000;
  double hostile = 0.05;
  uint64_t seed = 1;
  app.add_option("--runs", runs, "Judgements in all")->check(CLI::Range(10, 100000000));
  app.add_option("--hostile", hostile, "Share of hostile programs")->check(CLI::Range(0.0, 1.0));
  app.add_option("--seed", seed, "Of the choice of programs");
  CLI11_PARSE(app, argc, argv);
  return sluice::Main(runs, hostile, seed);
}
