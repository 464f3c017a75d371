#include "learner/attention_blocks.h"

#include <algorithm>
#include <cstdlib>
#include <new>
#include <utility>

#include "core/model/row_ranges.h"
#include "learner/kernel_node.h"

namespace sluice::learner {
namespace {

constexpr int64_t kBlock = kernels::kBlockTokens;

// A position's floats in a gradient: its keys, then its values.
int64_t EntryWidth(const kernels::AttentionShape& s) {
  return s.kv_heads * (s.key_dim + (s.value_in_key ? 0 : s.value_dim));
}

}  // namespace

void AttentionBlocks::Free::operator()(std::byte* p) const { std::free(p); }

AttentionBlocks::AttentionBlocks(std::shared_ptr<const ForwardPass> pass)
    : pass_(std::move(pass)), block_bytes_(kernels::CacheBlockBytes(shape())) {
  const size_t bytes = static_cast<size_t>(std::max<int64_t>(layout().blocks, 1) * block_bytes_);
  memory_.reset(static_cast<std::byte*>(std::aligned_alloc(64, bytes)));
  if (memory_ == nullptr) throw std::bad_alloc();
  // Slots that no row fills are multiplied by probabilities of 0: they must be numbers.
  std::fill_n(memory_.get(), bytes, std::byte{0});
  for (const std::vector<int64_t>& table : layout().tables) {
    tables_.emplace_back();
    for (const int64_t block : table) tables_.back().push_back(memory_.get() + block * block_bytes_);
  }
}

void AttentionBlocks::Store(const float* keys, const float* values) {
  const kernels::AttentionShape& s = shape();
  const int64_t key_width = s.kv_heads * s.key_dim, value_width = s.kv_heads * s.value_dim;
  const auto store = [&](int64_t row, int64_t slot) {
    kernels::CacheStore(s, keys + row * key_width, values == nullptr ? nullptr : values + row * value_width,
                        slot % kBlock, memory_.get() + slot / kBlock * block_bytes_);
  };
  ForRowRanges(pass_->pool, pass_->rows(), key_width + value_width, [&](int64_t first, int64_t count) {
    for (int64_t r = first; r < first + count; ++r) store(r, layout().slot_of_row[r]);
  });
  for (const auto& [row, slot] : layout().copies) store(row, slot);
}

std::vector<kernels::CachedRow> AttentionBlocks::CachedRows() const {
  std::vector<kernels::CachedRow> rows(pass_->rows());
  for (int64_t r = 0; r < pass_->rows(); ++r) {
    rows[r] = {tables_[layout().table_of_row[r]].data(), pass_->batch->positions[r] + 1};
  }
  return rows;
}

at::Tensor AttentionBlocks::Attend(const at::Tensor& q, at::Tensor* log_sum_exp) const {
  at::Tensor out = at::empty({pass_->rows(), shape().heads * shape().value_dim});
  *log_sum_exp = at::empty({pass_->rows(), shape().heads});
  kernels::Attention(shape(), Data(q), CachedRows(), Data(out), Data(*log_sum_exp), pass_->pool);
  return out;
}

AttentionBlocks::Gradients AttentionBlocks::Backward(const at::Tensor& q, const at::Tensor& out,
                                                     const at::Tensor& log_sum_exp,
                                                     const at::Tensor& d_out) const {
  const int64_t block_floats = kBlock * EntryWidth(shape());
  at::Tensor d_blocks = at::zeros({layout().blocks, block_floats});
  std::vector<std::vector<float*>> tables;
  for (const std::vector<int64_t>& table : layout().tables) {
    tables.emplace_back();
    for (const int64_t block : table) tables.back().push_back(Data(d_blocks) + block * block_floats);
  }
  std::vector<float* const*> into(pass_->rows());
  for (int64_t r = 0; r < pass_->rows(); ++r) into[r] = tables[layout().table_of_row[r]].data();
  at::Tensor d_q = at::empty_like(q);
  const kernels::AttentionGradient gradient = {Data(out), Data(log_sum_exp), Data(d_out), into, Data(d_q)};
  kernels::AttentionBackward(shape(), Data(q), CachedRows(), gradient, pass_->pool);
  return {d_q, Collect(d_blocks)};
}

// A row's gradient: the sum over the slots that hold it.
at::Tensor AttentionBlocks::Collect(const at::Tensor& d_blocks) const {
  const int64_t width = EntryWidth(shape());
  at::Tensor rows = at::empty({pass_->rows(), width});
  float* to = Data(rows);
  const float* from = Data(d_blocks);
  ForRowRanges(pass_->pool, pass_->rows(), 2 * width, [&](int64_t first, int64_t count) {
    for (int64_t r = first; r < first + count; ++r) {
      std::copy_n(from + layout().slot_of_row[r] * width, width, to + r * width);
    }
  });
  for (const auto& [row, slot] : layout().copies) kernels::Add(from + slot * width, width, to + row * width);
  return rows;
}

}  // namespace sluice::learner
