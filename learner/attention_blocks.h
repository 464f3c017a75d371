// The rows' keys and values laid into blocks as the engine's cache has them, and attention over them with its
// gradient.
#pragma once

#include <ATen/ATen.h>

#include <cstddef>
#include <memory>
#include <vector>

#include "core/kernels/attention.h"
#include "learner/forward_pass.h"

namespace sluice::learner {

// The cache of one layer for a packed batch. Rows of a prompt that completions go on from are stored once for
// each of them where their block is not full (BlockLayout::copies).
class AttentionBlocks {
 public:
  explicit AttentionBlocks(std::shared_ptr<const ForwardPass> pass);

  // Keys [rows, kv_heads key_dim] and values [rows, kv_heads value_dim], or null where they are in the keys.
  void Store(const float* keys, const float* values);
  // q [rows, heads key_dim] -> [rows, heads value_dim]; log_sum_exp [rows, heads].
  at::Tensor Attend(const at::Tensor& q, at::Tensor* log_sum_exp) const;

  struct Gradients {
    at::Tensor q;        // [rows, heads key_dim]
    at::Tensor entries;  // [rows, kv_heads (key_dim + value_dim)]: keys, then values not in the keys
  };
  // `out` and `log_sum_exp` of Attend.
  Gradients Backward(const at::Tensor& q, const at::Tensor& out, const at::Tensor& log_sum_exp,
                     const at::Tensor& d_out) const;

 private:
  struct Free {
    void operator()(std::byte* p) const;
  };
  const BlockLayout& layout() const { return pass_->batch->layout; }
  const kernels::AttentionShape& shape() const { return pass_->weights->attention; }
  std::vector<kernels::CachedRow> CachedRows() const;
  at::Tensor Collect(const at::Tensor& d_blocks) const;

  std::shared_ptr<const ForwardPass> pass_;
  int64_t block_bytes_;
  std::unique_ptr<std::byte, Free> memory_;            // [blocks, block_bytes]
  std::vector<std::vector<const std::byte*>> tables_;  // of each sequence
};

}  // namespace sluice::learner
