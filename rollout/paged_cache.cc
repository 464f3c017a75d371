#include "rollout/paged_cache.h"

#include <algorithm>
#include <utility>

#include "core/kernels/kernels.h"

namespace sluice {

using kernels::kBlockTokens;

CacheBlock BlockPool::Allocate(int64_t floats) {
  const int64_t bytes = floats * static_cast<int64_t>(sizeof(float));
  std::unique_ptr<float[]> block;
  std::vector<std::unique_ptr<float[]>>& same = free_[floats];
  if (!same.empty()) {
    block = std::move(same.back());
    same.pop_back();
  } else {
    if (held_bytes_ + bytes > limit_bytes_) ReleaseFree(bytes);
    if (held_bytes_ + bytes > limit_bytes_) return nullptr;
    block.reset(new float[static_cast<size_t>(floats)]());
    held_bytes_ += bytes;
  }
  ++used_blocks_;
  used_bytes_ += bytes;
  return CacheBlock(block.release(), [this, floats](float* b) { Return(b, floats); });
}

void BlockPool::Return(float* block, int64_t floats) {
  free_[floats].emplace_back(block);
  --used_blocks_;
  used_bytes_ -= floats * static_cast<int64_t>(sizeof(float));
}

// Gives free blocks (of models that are no longer served) back until `wanted_bytes` fit.
void BlockPool::ReleaseFree(int64_t wanted_bytes) {
  for (auto& [floats, blocks] : free_) {
    while (!blocks.empty() && held_bytes_ + wanted_bytes > limit_bytes_) {
      blocks.pop_back();
      held_bytes_ -= floats * static_cast<int64_t>(sizeof(float));
    }
  }
}

int64_t BlocksFor(int64_t positions) { return (positions + kBlockTokens - 1) / kBlockTokens; }

int64_t SequenceCache::block_floats() const { return shape_.layers * kBlockTokens * shape_.width; }

void SequenceCache::Append(CacheBlock block) {
  if (by_layer_.empty()) {
    by_layer_.resize(static_cast<size_t>(shape_.layers));
    layers_.resize(static_cast<size_t>(shape_.layers));
  }
  for (int64_t l = 0; l < shape_.layers; ++l) {
    std::vector<float*>& pointers = by_layer_[static_cast<size_t>(l)];
    pointers.push_back(block.get() + l * kBlockTokens * shape_.width);
    layers_[static_cast<size_t>(l)] = pointers.data();
  }
  blocks_.push_back(std::move(block));
}

bool SequenceCache::Reserve(int64_t positions) {
  std::vector<CacheBlock> fresh;
  for (int64_t have = blocks(); have < BlocksFor(positions); ++have) {
    fresh.push_back(pool_->Allocate(block_floats()));
    if (fresh.back() == nullptr) return false;
  }
  for (CacheBlock& block : fresh) Append(std::move(block));
  return true;
}

bool SequenceCache::Fork(const SequenceCache& prefix, int64_t positions) {
  const int64_t full = positions / kBlockTokens, rest = positions % kBlockTokens;
  CacheBlock partial;
  if (rest > 0) {
    partial = pool_->Allocate(block_floats());
    if (partial == nullptr) return false;
    const float* source = prefix.blocks_[static_cast<size_t>(full)].get();
    for (int64_t l = 0; l < shape_.layers; ++l) {
      const int64_t at = l * kBlockTokens * shape_.width;
      std::copy_n(source + at, rest * shape_.width, partial.get() + at);
    }
  }
  for (int64_t b = 0; b < full; ++b) Append(prefix.blocks_[static_cast<size_t>(b)]);
  if (partial != nullptr) Append(std::move(partial));
  return true;
}

void SequenceCache::Clear() {
  blocks_.clear();
  by_layer_.clear();
  layers_.clear();
}

}  // namespace sluice
