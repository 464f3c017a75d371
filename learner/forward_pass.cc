#include "learner/forward_pass.h"

#include <utility>

namespace sluice::learner {

std::shared_ptr<const ForwardPass> BeginPass(std::shared_ptr<const PackedBatch> batch,
                                             std::shared_ptr<const DecoderWeights> weights, bool replay,
                                             ThreadPool* pool) {
  auto pass = std::make_shared<ForwardPass>();
  const size_t half = weights->inverse_frequencies.size();
  pass->cos.resize(batch->tokens.size() * half);
  pass->sin.resize(batch->tokens.size() * half);
  kernels::RopeCosSin(batch->positions, weights->inverse_frequencies, weights->rope_amplitude,
                      pass->cos.data(), pass->sin.data());
  pass->batch = std::move(batch);
  pass->weights = std::move(weights);
  pass->replay = replay;
  pass->pool = pool;
  return pass;
}

}  // namespace sluice::learner
