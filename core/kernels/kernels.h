// The forward operations of the model, one for engine and learner alike. Plain row-major float32 in and out,
// weights bf16 or float32, float32 accumulation.
//
// Invariant INVARIANT: each kernel computes a row by a fixed sequence of operations, whatever other rows are
// in the call, whatever the threads, the batch or the chunk. Linear: one accumulator per output, in rising k:
// fused multiply-adds of float32, or, with weights of bfloat16 on the paths cpu-avx512-bf16 and cpu-amx, dot
// products of pairs after rounding the activations to bfloat16 (docs/adr/0007-bf16-products.md). Other
// reductions: 16 lanes filled in turn, then a fixed tree. The processor's path (KernelPath) is chosen once
// per process; paths may differ from each other in rounding.
//
// `pool` may be null (one thread). Thread-safe: no state besides the chosen path.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "absl/types/span.h"
#include "core/base/thread_pool.h"
#include "core/kernels/attention.h"
#include "core/kernels/weight_memory.h"

namespace sluice::kernels {

// What this process uses, stamped in version spans: "cpu-generic", "cpu-avx2", "cpu-avx512",
// "cpu-avx512-bf16" or "cpu-amx", the fastest that the machine has. The environment's SLUICE_KERNEL_PATH asks
// for one by name (also "cpu-amx-emulated", for tests); asking for one that the machine lacks ends the
// process with a message.
const std::string& KernelPath();

// A weight [out, in] in the layout that this process's path reads: panels of 16 outputs; float32 [k][16],
// bfloat16 in pairs of k, [k/2][16][2]. Holds its own copy.
class PackedMatrix {
 public:
  PackedMatrix() = default;
  // `w` is row-major [out, in]. The copy is taken from `memory`, or is memory of its own where that is null.
  static PackedMatrix FromF32(const float* w, int64_t out, int64_t in, WeightMemory* memory = nullptr);
  static PackedMatrix FromBF16(const uint16_t* w, int64_t out, int64_t in, WeightMemory* memory = nullptr);
  int64_t out() const { return out_; }
  int64_t in() const { return in_; }
  bool is_bf16() const { return is_bf16_; }
  const void* data() const { return data_.get(); }
  // The weights [in] of one output as they were given: an embedding that is tied to the head is read so.
  void ReadOutput(int64_t output, float* weights) const;
  int64_t panel_inputs() const { return panel_inputs_; }  // k of a panel with padding
  int64_t bytes() const;                                  // held in memory

 private:
  int64_t out_ = 0, in_ = 0, panel_inputs_ = 0;
  bool is_bf16_ = false;
  std::shared_ptr<const void> data_;  // shared: packed once, read by all threads and both users
};

// y[r, o] = sum_i x[r, i] w[o, i] (+ bias[o] added last when not null). Strides in floats.
void Linear(const float* x, int64_t rows, int64_t x_stride, const PackedMatrix& w, const float* bias,
            float* y, int64_t y_stride, ThreadPool* pool);

// Several products in one parallel region, each as Linear computes it: outputs do not overlap. Jobs that read
// the same x share its conversion. For q, k and v; gate and up; the heads of an absorption; the experts of a
// layer.
struct LinearJob {
  const float* x = nullptr;
  int64_t rows = 0, x_stride = 0;
  const PackedMatrix* w = nullptr;
  const float* bias = nullptr;
  float* y = nullptr;
  int64_t y_stride = 0;
};
void LinearBatch(absl::Span<const LinearJob> jobs, ThreadPool* pool);

// y = x / sqrt(mean(x^2) + epsilon) * weight, per row of `dim` (Zhang & Sennrich 2019, eq. 4). y may be x.
void RmsNorm(const float* x, int64_t rows, int64_t dim, int64_t x_stride, const float* weight, float epsilon,
             float* y, int64_t y_stride);

// y = silu(gate) * up over n values, silu(g) = g / (1 + exp(-g)). y may be gate.
void SwiGlu(const float* gate, const float* up, int64_t n, float* y);

// y += x, and y += scale * x, over n values.
void Add(const float* x, int64_t n, float* y);
void AddScaled(const float* x, float scale, int64_t n, float* y);

// Rotary embedding (Su et al. 2021) of `heads` vectors of `dim` per row, at row r: x + r*row_stride +
// h*head_stride, in place. cos/sin [rows, dim/2] come from RopeCosSin. Interleaved input pairs (2i, 2i+1);
// the output always has first halves then second halves, for q and k alike.
void RopeCosSin(absl::Span<const int32_t> positions, absl::Span<const float> inverse_frequencies,
                float amplitude, float* cos, float* sin);
void ApplyRope(float* x, int64_t rows, int64_t row_stride, int64_t heads, int64_t head_stride, int64_t dim,
               const float* cos, const float* sin, bool interleaved);

// Routing of one row of logits [experts] (float32). ids [k] by falling weight; weights [k] final (normalised,
// scaled). DeepSeek-V2 section 2.2, DeepSeek-V3 section 2.1.2; masked groups count as -infinity; ties go to
// the lower id.
struct RouterParams {
  int32_t experts = 0, k = 0, groups = 1, groups_kept = 1;
  bool sigmoid = false;                    // else softmax
  bool group_top_two_sum = false;          // else the group's maximum
  const float* correction_bias = nullptr;  // [experts] or null
  bool normalize = false;
  float scaling = 1;
};
void Route(const float* logits, const RouterParams& params, int32_t* ids, float* weights);
// The weights of experts chosen before: the same bits as from Route where Route would choose them in this
// order.
void RouteTo(const float* logits, const RouterParams& params, const int32_t* ids, float* weights);

// log p of `target` and the entropy (nats) of softmax(logits / temperature), over `vocab` values; entropy may
// be null. LogSoftmaxSums and LogProbability of sample.h.
float LogSoftmaxAt(const float* logits, int64_t vocab, int32_t target, float temperature, float* entropy);

}  // namespace sluice::kernels
