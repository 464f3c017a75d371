// The head and the loss of the tokens that it predicts, by pieces of rows: there is never a [rows, vocab]
// tensor of a whole batch.
#pragma once

#include <ATen/ATen.h>

#include <functional>

#include "core/base/thread_pool.h"
#include "core/kernels/kernels.h"
#include "learner/packing.h"
#include "learner/products.h"

namespace sluice::learner {

// What the head found for one target.
struct TargetScore {
  float raw_logprob = 0;  // temperature 1: the engine's number, bit for bit
  float logprob = 0;      // at the temperature asked for
  float entropy = 0;      // at that temperature, nats
};
// Derivatives of the loss.
struct TargetGradient {
  double d_logprob = 0, d_entropy = 0;
};
// Called for each target of a batch, in order, by one thread.
using TargetLoss = std::function<TargetGradient(size_t target, const TargetScore& score)>;

struct HeadCall {
  const kernels::PackedMatrix* packed = nullptr;  // [vocab, hidden]
  const Weight* weight = nullptr;                 // null: scores only
  const PackedBatch* batch = nullptr;
  float temperature = 1;
  ThreadPool* pool = nullptr;  // may be null
};
// hidden [heads, hidden] of the batch's head_rows. With a weight: adds its gradient and returns that of
// hidden, undefined when no target has one.
at::Tensor RunHead(const HeadCall& call, const at::Tensor& hidden, const TargetLoss& loss);

}  // namespace sluice::learner
