#include "services/rollout/bench/bench.h"

#include <algorithm>
#include <fstream>
#include <iostream>
#include <memory>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "CLI/CLI.hpp"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "core/base/log.h"
#include "core/base/status.h"
#include "core/base/thread_pool.h"
#include "core/kernels/machine_limits.h"
#include "core/model/decoder_backend.h"
#include "core/spec/checkpoint/checkpoint_dir.h"
#include "core/spec/checkpoint/model_check.h"
#include "rollout/paged_cache.h"
#include "services/rollout/bench/engine_load.h"
#include "services/rollout/bench/report.h"

namespace sluice::bench {
namespace {

struct BenchOptions {
  std::string model, dtype = "bf16";
  int64_t prompt = 128, new_tokens = 128;
  std::vector<int64_t> batch = {1, 8, 32, 64};
  int64_t group = 0;  // 0: batches
  int threads = 0, runs = 3;
  int64_t cache_mib = 0;
  uint64_t seed = 1;
  bool json = false;
};

DType TypeOf(const BenchOptions& o) { return o.dtype == "fp32" ? DType::kF32 : DType::kBF16; }

int ThreadsOf(const BenchOptions& o) {
  return o.threads > 0 ? o.threads : static_cast<int>(std::max(1u, std::thread::hardware_concurrency()));
}

int64_t LargestBatch(const BenchOptions& o) {
  return std::max(o.group, *std::max_element(o.batch.begin(), o.batch.end()));
}

absl::StatusOr<ModelConfig> ReadConfig(const BenchOptions& o) {
  SLUICE_ASSIGN_OR_RETURN(const ModelFiles files, ReadModelFiles(o.model));
  SLUICE_ASSIGN_OR_RETURN(ModelConfig config, ConfigOf(files, o.model));
  if (o.prompt + o.new_tokens > config.max_positions) {
    return absl::InvalidArgumentError(absl::StrCat("--prompt ", o.prompt, " and --new ", o.new_tokens,
                                                   " do not fit the model's context of ",
                                                   config.max_positions));
  }
  return config;
}

// What the largest batch needs, a block for each sequence's copy of a part of the prompt included.
int64_t CacheBytesFor(const BenchOptions& o, const ModelConfig& config) {
  if (o.cache_mib > 0) return o.cache_mib << 20;
  const int64_t blocks = (BlocksFor(o.prompt + o.new_tokens) + 1) * LargestBatch(o);
  const int64_t block_bytes = config.layers * KernelBackend().LayerBlockBytes(config, TypeOf(o));
  return std::max(int64_t{1} << 20, blocks * block_bytes);
}

// RssAnon of /proc/self/status; 0 where there is none.
int64_t AnonymousBytes() {
  std::ifstream in("/proc/self/status");
  std::string line;
  while (std::getline(in, line)) {
    if (line.rfind("RssAnon:", 0) != 0) continue;
    const std::vector<std::string> parts = absl::StrSplit(line, absl::ByAnyChar(" \t"), absl::SkipEmpty());
    int64_t kib = 0;
    if (parts.size() >= 2 && absl::SimpleAtoi(parts[1], &kib)) return kib << 10;
  }
  return 0;
}

MachineFigures MeasureMachine(const BenchOptions& o) {
  ThreadPool pool(ThreadsOf(o));
  const kernels::MachineLimits limits = kernels::MeasureMachineLimits(&pool);
  return {TypeOf(o) == DType::kF32 ? limits.f32_flops : limits.bf16_flops, limits.read_bytes};
}

void Say(const std::string& line) { std::cerr << "sluice bench: " << line << std::endl; }

// Measures rows on one engine.
class Bench {
 public:
  Bench(const BenchOptions& options, std::unique_ptr<Engine> engine, EngineMetrics& metrics)
      : options_(options), engine_(std::move(engine)), watched_{*engine_, metrics} {}

  absl::StatusOr<BenchRow> Measure(int64_t requests, int64_t group) {
    BenchRow row;
    row.requests = requests;
    row.group = group;
    LoadShape shape;
    shape.requests = requests;
    shape.group = group;
    shape.prompt_tokens = options_.prompt;
    shape.new_tokens = options_.new_tokens;
    LoadShape warm = shape;
    warm.new_tokens = std::min<int64_t>(4, shape.new_tokens);
    SLUICE_RETURN_IF_ERROR(Load(warm).status());
    std::vector<double> prefill, decode, end_to_end, seconds, shares;
    for (int run = 0; run < options_.runs; ++run) {
      Say(absl::StrCat(group > 1 ? "group " : "batch ", row.batch(), ": run ", run + 1, " of ",
                       options_.runs));
      LoadShape prompts = shape;
      prompts.new_tokens = 1;
      SLUICE_ASSIGN_OR_RETURN(const LoadTimes prefilled, Load(prompts));
      prefill.push_back(PrefillRate(prefilled, prompts));
      SLUICE_ASSIGN_OR_RETURN(const LoadTimes times, Load(shape));
      const DecodeWindow window = DecodeWindowOf(times, shape);
      if (window.rate() > 0) decode.push_back(window.rate());
      seconds.push_back(window.seconds);
      shares.push_back(window.share);
      end_to_end.push_back(EndToEndRate(times, shape));
      row.prompt_tokens_computed = static_cast<int64_t>(times.readings.back().prompt_tokens);
      row.cache_bytes = std::max(row.cache_bytes, CacheBytes(times));
      row.anonymous_bytes = std::max(row.anonymous_bytes, AnonymousBytes());
    }
    row.prefill = SpreadOf(prefill);
    row.decode = SpreadOf(decode);
    row.decode_runs = static_cast<int>(decode.size());
    row.decode_seconds = SpreadOf(seconds);
    row.decode_share = SpreadOf(shares);
    row.end_to_end = SpreadOf(end_to_end);
    shape.each_token = true;
    SLUICE_ASSIGN_OR_RETURN(const LoadTimes timed, Load(shape));
    row.latency = LatencyOf(timed);
    return row;
  }

 private:
  // Prompts are never those of an earlier load, so that no cache of prefixes helps.
  absl::StatusOr<LoadTimes> Load(LoadShape shape) {
    shape.seed = options_.seed * 1000003 + next_load_++;
    return RunLoad(watched_, shape);
  }
  int64_t CacheBytes(const LoadTimes& times) const {
    return static_cast<int64_t>(PeakBlocks(times)) * engine_->policy()->cache.block_bytes();
  }

  const BenchOptions& options_;
  const std::unique_ptr<Engine> engine_;
  const WatchedEngine watched_;
  uint64_t next_load_ = 0;
};

absl::StatusOr<std::unique_ptr<Engine>> OpenEngine(const BenchOptions& o, int64_t cache_bytes,
                                                   prometheus::Registry& registry) {
  EngineOptions options;
  options.name = "bench";
  options.threads = ThreadsOf(o);
  options.max_running_sequences = static_cast<int32_t>(std::max<int64_t>(64, LargestBatch(o)));
  options.cache_bytes = cache_bytes;
  SLUICE_ASSIGN_OR_RETURN(std::unique_ptr<Engine> engine, Engine::Create(std::move(options), registry));
  return engine;
}

absl::Status Run(const BenchOptions& o) {
  SLUICE_ASSIGN_OR_RETURN(const ModelConfig config, ReadConfig(o));
  BenchSetting setting;
  setting.model = o.model;
  setting.dtype = o.dtype;
  setting.threads = ThreadsOf(o);
  setting.runs = o.runs;
  setting.prompt_tokens = o.prompt;
  setting.new_tokens = o.new_tokens;
  setting.element_bytes = TypeOf(o) == DType::kF32 ? 4 : 2;
  setting.cache_limit_bytes = CacheBytesFor(o, config);
  setting.cost = CostOf(config);
  setting.machine = MeasureMachine(o);
  prometheus::Registry registry;
  SLUICE_ASSIGN_OR_RETURN(std::unique_ptr<Engine> engine, OpenEngine(o, setting.cache_limit_bytes, registry));
  EngineMetrics metrics(registry);
  SLUICE_RETURN_IF_ERROR(Annotate(engine->LoadDirectory(o.model, TypeOf(o)), o.model));
  SLUICE_ASSIGN_OR_RETURN(const RolloutWorkerState state, engine->GetState());
  setting.kernel_path = state.kernel_path;
  Bench bench(o, std::move(engine), metrics);
  std::vector<BenchRow> rows;
  if (o.group > 0) {
    for (int64_t group : {int64_t{1}, o.group}) {
      SLUICE_ASSIGN_OR_RETURN(rows.emplace_back(), bench.Measure(1, group));
    }
  } else {
    for (int64_t batch : o.batch) {
      SLUICE_ASSIGN_OR_RETURN(rows.emplace_back(), bench.Measure(batch, 1));
    }
  }
  if (o.json) {
    std::cout << ReportJson(setting, rows).dump() << std::endl;
  } else {
    std::cout << ReportTable(setting, rows) << std::flush;
  }
  return absl::OkStatus();
}

void AddOptions(CLI::App& app, BenchOptions& o) {
  app.add_option("--model", o.model)->required();
  app.add_option("--dtype", o.dtype)->check(CLI::IsMember({"bf16", "fp32"}));
  app.add_option("--prompt", o.prompt)->check(CLI::Range(1, 1 << 20));
  app.add_option("--new", o.new_tokens)->check(CLI::Range(2, 1 << 20));
  app.add_option("--batch", o.batch)->delimiter(',')->check(CLI::Range(1, 4096));
  app.add_option("--group", o.group)->check(CLI::Range(2, 4096));
  app.add_option("--threads", o.threads)->check(CLI::Range(1, 1024));
  app.add_option("--runs", o.runs)->check(CLI::Range(1, 1000));
  app.add_option("--cache-mib", o.cache_mib)->check(CLI::Range(1, 1 << 22));
  app.add_option("--seed", o.seed);
  app.add_flag("--json", o.json);
}

}  // namespace

int RunBench(int argc, char** argv) {
  CLI::App app("Measures the engine; `sluice bench engine --help` says how.");
  BenchOptions options;
  AddOptions(app, options);
  try {
    app.parse(argc, argv);
  } catch (const CLI::ParseError& error) {
    return app.exit(error) == 0 ? 0 : 2;
  }
  SetLogLevel(LogLevel::kWarning);
  const absl::Status status = Run(options);
  if (status.ok()) return 0;
  Say(std::string(status.message()));
  return absl::IsInternal(status) ? 1 : 2;
}

}  // namespace sluice::bench
