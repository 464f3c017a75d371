// Seconds of the parts of a training step: learner_step_bench MODEL_DIR [groups=4] [completions=8]
// [prompt=64] [new=64] [threads=2] [steps=3]. A group's prompt is computed once; the last line is JSON.
#include <ATen/ATen.h>
#include <ATen/Parallel.h>
#include <sys/resource.h>

#include <cstdio>
#include <cstdlib>
#include <memory>
#include <string>
#include <vector>

#include "absl/time/clock.h"
#include "core/base/random.h"
#include "core/kernels/kernels.h"
#include "core/spec/checkpoint/checkpoint_dir.h"
#include "learner/optimizer.h"
#include "learner/policy.h"

namespace sluice {
namespace {

using learner::Policy;
using learner::TargetGradient;
using learner::TargetScore;

template <typename Work>
double Seconds(Work work) {
  const absl::Time start = absl::Now();
  work();
  return absl::ToDoubleSeconds(absl::Now() - start);
}

double PeakMiB() {
  struct rusage usage = {};
  getrusage(RUSAGE_SELF, &usage);
  return static_cast<double>(usage.ru_maxrss) / 1024;
}

// Multiply-adds of matrix products for each row of the body and each row of the head.
struct Work {
  double body = 0, head = 0;
};
Work WorkOf(const ModelConfig& config, const ParameterLayout& layout) {
  Work work;
  for (const ParameterSlot& slot : layout.trained()) {
    if (slot.shape.size() < 2 || slot.name == "model.embed_tokens.weight" || slot.name == "lm_head.weight")
      continue;
    const bool routed = slot.name.find(".experts.") != std::string::npos;
    work.body += static_cast<double>(slot.size) *
                 (routed ? static_cast<double>(config.moe.experts_per_token) / config.moe.experts : 1.0);
  }
  work.head = static_cast<double>(config.vocab) * static_cast<double>(config.hidden);
  return work;
}

int Main(const std::vector<std::string>& args) {
  const auto number = [&](size_t i, int64_t otherwise) {
    return args.size() > i ? std::atoll(args[i].c_str()) : otherwise;
  };
  if (args.size() < 2) {
    std::fprintf(stderr, "usage: %s MODEL_DIR [groups completions prompt new threads steps]\n",
                 args[0].c_str());
    return 2;
  }
  const int64_t groups = number(2, 4), completions = number(3, 8), prompt = number(4, 64),
                fresh = number(5, 64);
  const int threads = static_cast<int>(number(6, 2));
  auto model = ReadModelDirectory(args[1]);
  if (!model.ok()) {
    std::fprintf(stderr, "%s\n", std::string(model.status().message()).c_str());
    return 1;
  }
  at::set_num_threads(1);
  ThreadPool pool(threads);
  const ParameterLayout layout(model->config);
  Policy policy(model->config, DType::kBF16, layout.Flatten(layout.frozen(), model->tensors).value(), &pool);
  AdamwSlice slice(SliceSize(layout.trained_size(), 1));
  {
    const std::vector<float> masters = layout.Flatten(layout.trained(), model->tensors).value();
    std::copy(masters.begin(), masters.end(), slice.masters().begin());
  }
  model->tensors.clear();
  policy.ZeroGradient(static_cast<int64_t>(slice.masters().size()));
  if (!policy.SetPublished(slice.masters()).ok()) return 1;

  std::vector<std::vector<int32_t>> tokens;
  for (int64_t i = 0; i < groups * (completions + 1); ++i) {
    tokens.emplace_back();
    for (int64_t t = 0; t < (i % (completions + 1) == 0 ? prompt : fresh); ++t) {
      const float u = UniformAt(1, RandomDomain::kShuffle, i, 0, static_cast<uint32_t>(t));
      tokens.back().push_back(static_cast<int32_t>(u * static_cast<float>(model->config.vocab)));
    }
  }
  std::vector<PackGroup> packed;
  for (int64_t g = 0; g < groups; ++g) {
    packed.push_back({tokens[g * (completions + 1)], {}});
    for (int64_t c = 0; c < completions; ++c) {
      packed.back().completions.push_back({tokens[g * (completions + 1) + 1 + c], g * completions + c});
    }
  }
  auto batch = std::make_shared<const PackedBatch>(Pack(packed));
  const Work work = WorkOf(model->config, layout);
  const double rows = static_cast<double>(batch->rows()),
               heads = static_cast<double>(batch->head_rows.size());
  const double flop = 2 * (rows * work.body + heads * work.head);
  for (int64_t step = 0; step < number(7, 3); ++step) {
    const double forward = Seconds([&] { policy.Score(batch, {}, [](size_t, const TargetScore&) {}); });
    const double zero = Seconds([&] { policy.ZeroGradient(static_cast<int64_t>(slice.masters().size())); });
    const double both = Seconds([&] {
      policy.Accumulate(batch, 1.0f, [](size_t, const TargetScore&) { return TargetGradient{-1e-4, 0}; });
    });
    const double adam = Seconds([&] {
      slice.Update({1e-6, 0.9, 0.999, 1e-8, 0}, policy.gradient(), 1.0, &pool);
    });
    const double pack = Seconds([&] { policy.SetPublished(slice.masters()).IgnoreError(); });
    std::printf(
        "{\"path\":\"%s\",\"threads\":%d,\"rows\":%.0f,\"forward_s\":%.3f,\"backward_s\":%.3f,\"zero_s\":%."
        "3f,"
        "\"optimizer_s\":%.3f,\"pack_s\":%.3f,\"step_s\":%.3f,\"forward_gflops\":%.0f,\"backward_gflops\":%."
        "0f,"
        "\"peak_rss_mib\":%.0f}\n",
        kernels::KernelPath().c_str(), threads, rows, forward, both - forward, zero, adam, pack,
        both + zero + adam + pack, flop / forward / 1e9, 2 * flop / (both - forward) / 1e9, PeakMiB());
    std::fflush(stdout);
  }
  return 0;
}

}  // namespace
}  // namespace sluice

int main(int argc, char** argv) { return sluice::Main({argv, argv + argc}); }
