#include "rollout/paged_cache.h"

#include <utility>

namespace sluice {

using kernels::kBlockTokens;

CacheBlock BlockPool::Allocate(int64_t floats) {
  const int64_t bytes = floats * static_cast<int64_t>(sizeof(float));
  CacheBlock memory = TakeOrMake(floats, bytes);
  while (memory == nullptr && reclaim_ && reclaim_()) memory = TakeOrMake(floats, bytes);
  if (memory == nullptr) return nullptr;
  ++used_blocks_;
  used_bytes_ += bytes;
  float* const block = memory.get();
  return CacheBlock(block, [this, floats, memory = std::move(memory)](float*) { Return(memory, floats); });
}

// A free block of this size, or a new one; null when neither can be had.
CacheBlock BlockPool::TakeOrMake(int64_t floats, int64_t bytes) {
  std::vector<CacheBlock>& same = free_[floats];
  if (!same.empty()) {
    CacheBlock memory = std::move(same.back());
    same.pop_back();
    return memory;
  }
  if (held_bytes_ + bytes > limit_bytes_) ReleaseFree(bytes);
  if (held_bytes_ + bytes > limit_bytes_) return nullptr;
  CacheBlock memory = backend_->AllocateCache(floats);
  if (memory != nullptr) held_bytes_ += bytes;
  return memory;
}

void BlockPool::Return(CacheBlock memory, int64_t floats) {
  free_[floats].push_back(std::move(memory));
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

float* SequenceCache::Layer(const CacheBlock& block, int64_t layer) const {
  return block.get() + layer * kBlockTokens * shape_.width;
}

void SequenceCache::Replace(int64_t index, CacheBlock block) {
  for (int64_t l = 0; l < shape_.layers; ++l) {
    by_layer_[static_cast<size_t>(l)][static_cast<size_t>(index)] = Layer(block, l);
  }
  blocks_[static_cast<size_t>(index)] = std::move(block);
}

void SequenceCache::Append(CacheBlock block) {
  if (by_layer_.empty()) {
    by_layer_.resize(static_cast<size_t>(shape_.layers));
    layers_.resize(static_cast<size_t>(shape_.layers));
  }
  for (int64_t l = 0; l < shape_.layers; ++l) {
    std::vector<float*>& pointers = by_layer_[static_cast<size_t>(l)];
    pointers.push_back(Layer(block, l));
    layers_[static_cast<size_t>(l)] = pointers.data();
  }
  blocks_.push_back(std::move(block));
}

bool SequenceCache::Reserve(int64_t positions) {
  std::vector<CacheBlock> fresh;
  for (int64_t have = blocks(); have < BlocksFor(positions); ++have) {
    fresh.push_back(pool_->Allocate(shape_.block_floats()));
    if (fresh.back() == nullptr) return false;
  }
  for (CacheBlock& block : fresh) Append(std::move(block));
  return true;
}

bool SequenceCache::Fork(const SequenceCache& prefix, int64_t positions) {
  const int64_t full = positions / kBlockTokens, rest = positions % kBlockTokens;
  CacheBlock partial;
  if (rest > 0) {
    partial = pool_->Allocate(shape_.block_floats());
    if (partial == nullptr) return false;
    const float* source = prefix.blocks_[static_cast<size_t>(full)].get();
    for (int64_t l = 0; l < shape_.layers; ++l) {
      const int64_t at = l * kBlockTokens * shape_.width;
      pool_->backend().CopyCache(source + at, rest * shape_.width, partial.get() + at);
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
