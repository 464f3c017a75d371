#include "rollout/paged_cache.h"

#include <utility>

namespace sluice {

using kernels::kBlockTokens;

CacheBlock BlockPool::Allocate(int64_t bytes) {
  CacheBlock memory = TakeOrMake(bytes);
  while (memory == nullptr && reclaim_ && reclaim_()) memory = TakeOrMake(bytes);
  if (memory == nullptr) return nullptr;
  ++used_blocks_;
  used_bytes_ += bytes;
  std::byte* const block = memory.get();
  return CacheBlock(block, [this, bytes, memory = std::move(memory)](std::byte*) { Return(memory, bytes); });
}

// A free block of this size, or a new one; null when neither can be had.
CacheBlock BlockPool::TakeOrMake(int64_t bytes) {
  std::vector<CacheBlock>& same = free_[bytes];
  if (!same.empty()) {
    CacheBlock memory = std::move(same.back());
    same.pop_back();
    return memory;
  }
  if (held_bytes_ + bytes > limit_bytes_) ReleaseFree(bytes);
  if (held_bytes_ + bytes > limit_bytes_) return nullptr;
  CacheBlock memory = backend_->AllocateCache(bytes);
  if (memory != nullptr) held_bytes_ += bytes;
  return memory;
}

void BlockPool::Return(CacheBlock memory, int64_t bytes) {
  free_[bytes].push_back(std::move(memory));
  --used_blocks_;
  used_bytes_ -= bytes;
}

// Gives free blocks (of models that are no longer served) back until `wanted_bytes` fit.
void BlockPool::ReleaseFree(int64_t wanted_bytes) {
  for (auto& [bytes, blocks] : free_) {
    while (!blocks.empty() && held_bytes_ + wanted_bytes > limit_bytes_) {
      blocks.pop_back();
      held_bytes_ -= bytes;
    }
  }
}

int64_t BlocksFor(int64_t positions) { return (positions + kBlockTokens - 1) / kBlockTokens; }

std::byte* SequenceCache::Layer(const CacheBlock& block, int64_t layer) const {
  return block.get() + layer * shape_.layer_bytes;
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
    std::vector<std::byte*>& pointers = by_layer_[static_cast<size_t>(l)];
    pointers.push_back(Layer(block, l));
    layers_[static_cast<size_t>(l)] = pointers.data();
  }
  blocks_.push_back(std::move(block));
}

bool SequenceCache::Reserve(int64_t positions) {
  std::vector<CacheBlock> fresh;
  for (int64_t have = blocks(); have < BlocksFor(positions); ++have) {
    fresh.push_back(pool_->Allocate(shape_.block_bytes()));
    if (fresh.back() == nullptr) return false;
  }
  for (CacheBlock& block : fresh) Append(std::move(block));
  return true;
}

bool SequenceCache::Fork(const SequenceCache& prefix, int64_t positions) {
  const int64_t full = positions / kBlockTokens, rest = positions % kBlockTokens;
  CacheBlock partial;
  if (rest > 0) {
    partial = pool_->Allocate(shape_.block_bytes());
    if (partial == nullptr) return false;
    pool_->backend().CopyCache(prefix.blocks_[static_cast<size_t>(full)].get(), shape_.block_bytes(),
                               partial.get());
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
