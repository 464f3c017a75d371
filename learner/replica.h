// One rank's part of training: the policy with its gradient, a slice of the optimizer's state, and the
// collectives that make ranks agree. Every rank makes the same calls in the same order. No LibTorch in this
// header.
//
// Results do not depend on how a batch is cut into micro-batches or shared out to ranks, up to rounding; at
// equal ranks, threads and kernel path they repeat bit for bit.
#pragma once

#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/time/time.h"
#include "absl/types/span.h"
#include "core/comm/collectives.h"
#include "core/rl/trainer.h"
#include "core/spec/config/model_config.h"
#include "core/spec/tensors/tensor.h"
#include "learner/batch.h"
#include "learner/optimizer.h"
#include "learner/parameters.h"

namespace sluice {

// Flat values of all trained parameters, independent of the number of ranks.
struct TrainingState {
  std::vector<float> masters;
  std::vector<float> first_moment, second_moment;  // empty: zero
  int64_t updates = 0;
};

class Replica {
 public:
  struct Options {
    ModelConfig config;
    LearningSpec spec;
    int64_t first_step = 0;     // of the schedule, which is so much longer
    std::vector<float> frozen;  // values of the tensors that are not trained
    Collectives* collectives = nullptr;
    int threads = 1;
    absl::Duration timeout;  // of one collective
  };
  static absl::StatusOr<std::unique_ptr<Replica>> Create(Options options);
  virtual ~Replica() = default;

  virtual const ParameterLayout& layout() const = 0;
  // Takes over a whole state (each rank keeps its slice) and publishes its masters, rounded.
  virtual absl::Status SetState(const TrainingState& state) = 0;
  // The whole state, on every rank.
  virtual absl::StatusOr<TrainingState> GatherState() = 0;
  // Zero moments; the current values become the reference where the loss has a KL term.
  virtual absl::Status BeginReinforcement() = 0;
  virtual absl::Status SetReference(absl::Span<const float> published) = 0;

  virtual absl::StatusOr<StepMetrics> Supervise(int64_t step, absl::Span<const SupervisedExample> batch) = 0;
  // Makes the weights of `version`. `current_hash` is the manifest hash of version - 1, with which engine and
  // learner log-probabilities are compared (invariant EXACT). Of older versions a share is re-scored, where
  // their weights are held.
  virtual absl::StatusOr<StepMetrics> Step(PolicyVersion version, const std::string& current_hash,
                                           absl::Span<const TrainingGroup> groups) = 0;
  // The tensors of the published values.
  virtual const TensorMap& tensors() const = 0;

  // For the audit of older versions (audit.h): whether this rank has the weights of a version, and giving it
  // those of one that it does not have, for the next step.
  virtual bool Holds(PolicyVersion version, const std::string& manifest_hash) const = 0;
  virtual absl::Status Hold(PolicyVersion version, const std::string& manifest_hash,
                            absl::Span<const float> published) = 0;
};

}  // namespace sluice
