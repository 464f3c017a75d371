#include "learner/head.h"

#include <algorithm>
#include <vector>

#include "core/kernels/gradients.h"
#include "core/kernels/sample.h"
#include "core/model/row_ranges.h"
#include "learner/kernel_node.h"

namespace sluice::learner {
namespace {

constexpr int64_t kLogitFloats = int64_t{16} << 20;  // of logits held at once
constexpr int64_t kLogitCost = 8;                    // of one logit's exponential, in floats touched

// One row of logits: what its targets' log-probabilities are made of, and the gradients of their loss.
struct Row {
  kernels::SoftmaxSums raw, tempered;
  float entropy = 0;
  std::vector<TargetGradient> gradients;  // of its targets, in order
};

// Rows [first, first + count) of the heads, whose targets are [target, target_end).
class Piece {
 public:
  Piece(const HeadCall& call, const at::Tensor& hidden, int64_t first, int64_t count)
      : call_(call),
        hidden_(hidden.narrow(0, first, count)),
        first_(first),
        rows_(count),
        logits_(at::empty({count, vocab()})) {
    kernels::Linear(Data(hidden_), count, hidden_.size(1), *call.packed, nullptr, Data(logits_), vocab(),
                    call.pool);
    float* logits = Data(logits_);
    ForRowRanges(call.pool, count, kLogitCost * vocab(), [&](int64_t from, int64_t some) {
      for (int64_t r = from; r < from + some; ++r) Weigh(logits + r * vocab(), &rows_[r]);
    });
  }

  // Scores the targets from `*target` on that belong to the piece. Whether any has a gradient.
  bool Score(const TargetLoss& loss, size_t* target) {
    const std::vector<PackTarget>& targets = call_.batch->targets;
    const int64_t end = first_ + static_cast<int64_t>(rows_.size());
    bool any = false;
    first_target_ = *target;
    for (; *target < targets.size() && targets[*target].head < end; ++*target) {
      Row& row = rows_[targets[*target].head - first_];
      const float logit = Logits(targets[*target])[targets[*target].token];
      const TargetScore score = {kernels::LogProbability(row.raw, logit),
                                 kernels::LogProbability(row.tempered, logit), row.entropy};
      row.gradients.push_back(loss(*target, score));
      any = any || row.gradients.back().d_logprob != 0 || row.gradients.back().d_entropy != 0;
    }
    last_target_ = *target;
    return any;
  }

  // Makes the logits their gradients, adds the weight's and writes that of the hidden rows.
  void Backward(at::Tensor d_hidden) {
    float* logits = Data(logits_);
    ForRowRanges(call_.pool, rows_.size(), kLogitCost * vocab(), [&](int64_t from, int64_t some) {
      for (int64_t r = from; r < from + some; ++r) RowBackward(rows_[r], logits + r * vocab());
    });
    std::vector<size_t> seen(rows_.size(), 0);
    for (size_t i = first_target_; i < last_target_; ++i) {
      const PackTarget& t = call_.batch->targets[i];
      const int64_t r = t.head - first_;
      const double d = rows_[r].gradients[seen[r]++].d_logprob;
      Logits(t)[t.token] += static_cast<float>(d / call_.temperature);
    }
    RunProducts(
        {WeightGradient(*call_.weight, logits_, hidden_),
         {d_hidden.narrow(0, first_, hidden_.size(0)), false, {InputGradient(logits_, *call_.weight)}}},
        call_.pool);
  }

 private:
  int64_t vocab() const { return call_.packed->out(); }
  float* Logits(const PackTarget& t) { return Data(logits_) + (t.head - first_) * vocab(); }

  void Weigh(const float* logits, Row* row) const {
    row->tempered = kernels::LogSoftmaxSums(logits, vocab(), call_.temperature, &row->entropy);
    row->raw =
        call_.temperature == 1.0f ? row->tempered : kernels::LogSoftmaxSums(logits, vocab(), 1.0f, nullptr);
  }

  void RowBackward(const Row& row, float* logits) const {
    double logprob_sum = 0, entropy_weight = 0;
    for (const TargetGradient& g : row.gradients) {
      logprob_sum += g.d_logprob;
      entropy_weight += g.d_entropy;
    }
    const bool none = std::all_of(row.gradients.begin(), row.gradients.end(),
                                  [](const auto& g) { return g.d_logprob == 0 && g.d_entropy == 0; });
    if (none) {
      std::fill_n(logits, vocab(), 0.0f);
      return;
    }
    kernels::LogSoftmaxBackward(
        {1 / call_.temperature, row.tempered.max + row.tempered.log_total, static_cast<float>(logprob_sum),
         static_cast<float>(entropy_weight), row.entropy},
        vocab(), logits);
  }

  const HeadCall& call_;
  const at::Tensor hidden_;
  const int64_t first_;
  std::vector<Row> rows_;
  at::Tensor logits_;
  size_t first_target_ = 0, last_target_ = 0;
};

}  // namespace

at::Tensor RunHead(const HeadCall& call, const at::Tensor& hidden, const TargetLoss& loss) {
  const int64_t heads = hidden.size(0), piece_rows = std::max<int64_t>(1, kLogitFloats / call.packed->out());
  at::Tensor d_hidden;
  size_t target = 0;
  for (int64_t first = 0; first < heads; first += piece_rows) {
    Piece piece(call, hidden, first, std::min(piece_rows, heads - first));
    if (!piece.Score(loss, &target) || call.weight == nullptr) continue;
    if (!d_hidden.defined()) d_hidden = at::zeros_like(hidden);
    piece.Backward(d_hidden);
  }
  return d_hidden;
}

}  // namespace sluice::learner
