// Prefill and decode rates of the decoder alone (no sampling, no scheduler), for profiles:
//
//   decoder_bench DIR [--dtype bf16|f32] [--batch 1,8,32,64] [--prompt 128] [--new 64] [--chunk 256]
//                     [--threads N]
//
// One line per batch: tokens per second of prompts (in chunks of so many rows) and of decoding (the step with
// its logits), the mean seconds of a step, and the resident memory that is not a file's.
#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <fstream>
#include <map>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "absl/strings/numbers.h"
#include "absl/strings/str_split.h"
#include "absl/time/clock.h"
#include "core/model/decoder.h"
#include "core/model/decoder_testing.h"
#include "core/model/decoder_weights.h"
#include "core/spec/checkpoint/checkpoint_dir.h"

namespace sluice {
namespace {

struct Options {
  std::string directory;
  DType dtype = DType::kBF16;
  std::vector<int64_t> batches = {1, 8, 32, 64};
  int64_t prompt = 128, fresh = 64, chunk = 256;
  int threads = static_cast<int>(std::thread::hardware_concurrency());
};

double AnonymousMiB() {
  std::ifstream status("/proc/self/status");
  for (std::string line; std::getline(status, line);) {
    if (line.rfind("RssAnon:", 0) == 0) return std::atof(line.c_str() + 8) / 1024;
  }
  return 0;
}

class Bench {
 public:
  Bench(const Options& options, const DecoderWeights& weights)
      : options_(options), weights_(weights), pool_(options.threads), decoder_(weights.config, &pool_) {}

  void Run(int64_t batch) {
    std::vector<ContiguousCache> caches;
    std::vector<std::vector<int32_t>> prompts;
    for (int64_t s = 0; s < batch; ++s) {
      caches.emplace_back(weights_, options_.prompt + options_.fresh);
      prompts.push_back(RandomTokens(options_.prompt, weights_.config.vocab, 7 + s));
    }
    const double prefill = Prefill(caches, prompts);
    const double decode = Decode(caches);
    std::printf("batch %3ld  prefill %8.0f t/s  decode %7.0f t/s  step %7.2f ms  anon %6.0f MiB\n",
                static_cast<long>(batch), static_cast<double>(batch * options_.prompt) / prefill,
                static_cast<double>(batch * options_.fresh) / decode,
                1e3 * decode / static_cast<double>(options_.fresh), AnonymousMiB());
    std::fflush(stdout);
  }

 private:
  double Prefill(const std::vector<ContiguousCache>& caches,
                 const std::vector<std::vector<int32_t>>& prompts) {
    std::vector<DecoderRow> rows;
    const absl::Time start = absl::Now();
    const auto flush = [&] {
      hidden_.resize(rows.size() * weights_.config.hidden);
      decoder_.Forward(weights_, rows, hidden_.data());
      rows.clear();
    };
    for (size_t s = 0; s < caches.size(); ++s) {
      for (size_t p = 0; p < prompts[s].size(); ++p) {
        rows.push_back({prompts[s][p], static_cast<int32_t>(p), caches[s].caches()});
        if (static_cast<int64_t>(rows.size()) == options_.chunk) flush();
      }
    }
    if (!rows.empty()) flush();
    return absl::ToDoubleSeconds(absl::Now() - start);
  }

  double Decode(const std::vector<ContiguousCache>& caches) {
    const size_t n = caches.size(), vocab = weights_.config.vocab;
    hidden_.resize(n * weights_.config.hidden);
    logits_.resize(n * vocab);
    std::vector<DecoderRow> rows(n);
    std::vector<int32_t> tokens(n, 1);
    const absl::Time start = absl::Now();
    for (int64_t step = 0; step < options_.fresh; ++step) {
      for (size_t s = 0; s < n; ++s) {
        rows[s] = {tokens[s], static_cast<int32_t>(options_.prompt + step), caches[s].caches()};
      }
      decoder_.Forward(weights_, rows, hidden_.data());
      decoder_.Logits(weights_, hidden_.data(), n, logits_.data());
      for (size_t s = 0; s < n; ++s) tokens[s] = (tokens[s] * 31 + step + 7) % static_cast<int32_t>(vocab);
    }
    return absl::ToDoubleSeconds(absl::Now() - start);
  }

  const Options& options_;
  const DecoderWeights& weights_;
  ThreadPool pool_;
  Decoder decoder_;
  std::vector<float> hidden_, logits_;
};

bool Parse(int argc, char** argv, Options* options) {
  if (argc < 2 || argc % 2 != 0) return false;
  options->directory = argv[1];
  for (int i = 2; i + 1 < argc; i += 2) {
    const std::string name = argv[i], value = argv[i + 1];
    std::vector<int64_t> numbers;
    for (absl::string_view part : absl::StrSplit(value, ',')) {
      int64_t number = 0;
      if (absl::SimpleAtoi(part, &number) && number > 0) numbers.push_back(number);
    }
    if (name == "--dtype" && (value == "bf16" || value == "f32")) {
      options->dtype = value == "bf16" ? DType::kBF16 : DType::kF32;
    } else if (numbers.empty()) {
      return false;
    } else if (name == "--batch") {
      options->batches = numbers;
    } else if (name == "--prompt") {
      options->prompt = numbers[0];
    } else if (name == "--new") {
      options->fresh = numbers[0];
    } else if (name == "--chunk") {
      options->chunk = numbers[0];
    } else if (name == "--threads") {
      options->threads = static_cast<int>(numbers[0]);
    } else {
      return false;
    }
  }
  return true;
}

int Main(int argc, char** argv) {
  Options options;
  if (!Parse(argc, argv, &options)) {
    std::fprintf(stderr,
                 "usage: decoder_bench DIR [--dtype bf16|f32] [--batch 1,8,32,64] [--prompt N] [--new N] "
                 "[--chunk N] [--threads N]\n");
    return 2;
  }
  auto model = ReadModelDirectory(options.directory);
  if (!model.ok()) {
    std::fprintf(stderr, "%s\n", model.status().ToString().c_str());
    return 2;
  }
  const auto weights = PackDecoderWeights(model->config, std::move(model->tensors), options.dtype);
  if (!weights.ok()) {
    std::fprintf(stderr, "%s\n", weights.status().ToString().c_str());
    return 2;
  }
  std::printf("%s  weights %.0f MiB  anon %.0f MiB\n", kernels::KernelPath().c_str(),
              static_cast<double>(PackedBytes(**weights)) / (1 << 20), AnonymousMiB());
  for (const int64_t batch : options.batches) Bench(options, **weights).Run(batch);
  return 0;
}

}  // namespace
}  // namespace sluice

int main(int argc, char** argv) { return sluice::Main(argc, argv); }
