// What the nodes of one forward share.
#pragma once

#include <memory>
#include <vector>

#include "core/base/thread_pool.h"
#include "core/model/decoder_weights.h"
#include "learner/packing.h"

namespace sluice::learner {

// The rows of a micro-batch on their way through a model. Kept by the backward until it has run.
struct ForwardPass {
  std::shared_ptr<const PackedBatch> batch;
  std::shared_ptr<const DecoderWeights> weights;
  bool replay = false;          // use the experts that the batch says were recorded
  std::vector<float> cos, sin;  // [rows, dr/2]
  ThreadPool* pool = nullptr;   // may be null
  int64_t rows() const { return batch->rows(); }
};

std::shared_ptr<const ForwardPass> BeginPass(std::shared_ptr<const PackedBatch> batch,
                                             std::shared_ptr<const DecoderWeights> weights, bool replay,
                                             ThreadPool* pool);

}  // namespace sluice::learner
