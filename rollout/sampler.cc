#include "rollout/sampler.h"

#include <cmath>
#include <limits>
#include <vector>

#include "core/kernels/sample.h"

namespace sluice {
namespace {

constexpr float kNever = -std::numeric_limits<float>::infinity();

// Buffers of one thread, kept from call to call.
struct Scratch {
  std::vector<float> edited, weights;           // [vocab]
  std::vector<float> block_maxima, block_sums;  // [LogitBlocks(vocab)]
  std::vector<int32_t> ids;
};

bool Edits(const SamplingInput& in) {
  return !in.params.logit_bias.empty() || !in.counts.counts().empty() || !in.forbidden.empty();
}

void Edit(const SamplingInput& in, float* logits) {
  const SamplingParams& p = in.params;
  for (const auto& [token, bias] : p.logit_bias) logits[token] += bias;
  for (const auto& [token, count] : in.counts.counts()) {
    float& logit = logits[token];
    logit = logit > 0 ? logit / p.repetition_penalty : logit * p.repetition_penalty;
    if (count > 0) logit -= p.presence_penalty + p.frequency_penalty * static_cast<float>(count);
  }
  for (int32_t token : in.forbidden) logits[token] = kNever;
}

// Weighs the row as it is to be sampled and takes a token. Unfiltered, the row is passed over twice.
kernels::SoftmaxSums SampleFrom(const SamplingInput& in, const float* logits, Scratch* scratch,
                                SampledToken* out) {
  const SamplingParams& params = in.params;
  const int64_t vocab = static_cast<int64_t>(in.logits.size());
  const kernels::GreatestLogit greatest = kernels::FindGreatest(logits, vocab, scratch->block_maxima.data());
  const kernels::SoftmaxSums sums = kernels::SumWeights(logits, vocab, greatest.logit, params.temperature,
                                                        scratch->weights.data(), scratch->block_sums.data());
  const float* weights = scratch->weights.data();
  const kernels::TokenFilter filter = {params.top_k, params.top_p, params.min_p};
  if (!std::isfinite(sums.log_total)) return sums;
  if (filter.KeepsAll(vocab)) {
    out->token = kernels::InvertWeights(weights, scratch->block_sums.data(), vocab, sums.total, in.uniform);
    out->processed_logprob = kernels::LogProbability(sums, logits[out->token]);
    return sums;
  }
  kernels::FilterTokens({logits, weights, scratch->block_maxima.data(), vocab, greatest.logit,
                         sums.inverse_temperature, sums.total},
                        filter, &scratch->ids);
  const double total = kernels::TotalWeight(scratch->ids, weights);
  out->token = kernels::InvertWeightsOf(scratch->ids, weights, total, in.uniform);
  out->processed_logprob =
      static_cast<float>(std::log(static_cast<double>(weights[out->token])) - std::log(total));
  return sums;
}

}  // namespace

TokenCounts::TokenCounts(const SamplingParams& params, absl::Span<const int32_t> prompt)
    : needed_(params.repetition_penalty != 1 || params.presence_penalty != 0 ||
              params.frequency_penalty != 0) {
  if (needed_) {
    for (int32_t token : prompt) counts_[token] = 0;
  }
}

void TokenCounts::Add(int32_t token) {
  if (needed_) ++counts_[token];
}

absl::StatusOr<SampledToken> SampleToken(const SamplingInput& in) {
  thread_local Scratch scratch;
  const int64_t vocab = static_cast<int64_t>(in.logits.size());
  if (vocab == 0) return absl::InternalError("no logits");
  scratch.weights.resize(in.logits.size());
  scratch.block_maxima.resize(static_cast<size_t>(kernels::LogitBlocks(vocab)));
  scratch.block_sums.resize(scratch.block_maxima.size());
  const float* const raw = in.logits.data();
  const float* logits = raw;
  if (Edits(in)) {
    scratch.edited.assign(in.logits.begin(), in.logits.end());
    Edit(in, scratch.edited.data());
    logits = scratch.edited.data();
  }
  SampledToken out;
  kernels::SoftmaxSums sums;  // of the untouched logits at temperature 1
  if (in.params.temperature == 0) {
    out.token = kernels::FindGreatest(logits, vocab, scratch.block_maxima.data()).id;
    sums = kernels::LogSoftmaxSums(raw, vocab, 1.0f, nullptr);
  } else {
    sums = SampleFrom(in, logits, &scratch, &out);
    if (logits != raw || in.params.temperature != 1) {
      if (std::isfinite(sums.log_total)) sums = kernels::LogSoftmaxSums(raw, vocab, 1.0f, nullptr);
    }
  }
  out.raw_logprob = kernels::LogProbability(sums, raw[out.token]);
  if (!std::isfinite(out.raw_logprob) || !std::isfinite(out.processed_logprob)) {
    return absl::InternalError("the logits are not finite: the policy's weights are not usable");
  }
  if (in.params.top_logprobs > 0) {
    kernels::FindGreatest(raw, vocab, scratch.block_maxima.data());
    kernels::TopLogits(raw, vocab, scratch.block_maxima.data(), in.params.top_logprobs, &scratch.ids);
    for (int32_t id : scratch.ids) out.alternatives.push_back({id, kernels::LogProbability(sums, raw[id])});
  }
  return out;
}

}  // namespace sluice
