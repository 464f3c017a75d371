// The cache in blocks of kBlockTokens positions from a pool with a hard limit (after Kwon et al.,
// "Efficient memory management for large language model serving with PagedAttention", SOSP 2023). A block
// holds a run of positions in all layers, one layer's block after another. Full blocks may be shared by
// several sequences and are then only read. The memory is the backend's and may be a device's: only the
// backend reads it. Not thread-safe: all belongs to the engine's thread.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <utility>
#include <vector>

#include "core/kernels/kernels.h"
#include "core/model/decoder_backend.h"

namespace sluice {

// Counted references: a block returns to its pool with the last one.
using CacheBlock = std::shared_ptr<std::byte[]>;

class BlockPool {
 public:
  // `backend` outlives the pool.
  BlockPool(const DecoderBackend* backend, int64_t limit_bytes)
      : backend_(backend), limit_bytes_(limit_bytes) {}
  BlockPool(const BlockPool&) = delete;
  BlockPool& operator=(const BlockPool&) = delete;

  // A block of so many bytes, content arbitrary; null when the limit would be passed or the device has no
  // memory left. The pool outlives the block.
  CacheBlock Allocate(int64_t bytes);
  // Asked for a block back whenever Allocate has none to give; false: there is none to be had. Outlives the
  // pool's last Allocate.
  void set_reclaim(std::function<bool()> reclaim) { reclaim_ = std::move(reclaim); }
  const DecoderBackend& backend() const { return *backend_; }
  int64_t limit_bytes() const { return limit_bytes_; }
  int64_t used_blocks() const { return used_blocks_; }
  int64_t used_bytes() const { return used_bytes_; }

 private:
  CacheBlock TakeOrMake(int64_t bytes);
  void Return(CacheBlock memory, int64_t bytes);
  void ReleaseFree(int64_t wanted_bytes);

  const DecoderBackend* const backend_;
  const int64_t limit_bytes_;
  std::function<bool()> reclaim_;
  int64_t held_bytes_ = 0;  // from the system: used and free
  int64_t used_blocks_ = 0, used_bytes_ = 0;
  std::map<int64_t, std::vector<CacheBlock>> free_;  // by size in bytes; the backend's memory itself
};

struct CacheShape {
  int64_t layers = 0, layer_bytes = 0;  // layer_bytes: DecoderBackend::LayerBlockBytes
  int64_t block_bytes() const { return layers * layer_bytes; }
};

// Blocks that `positions` take.
int64_t BlocksFor(int64_t positions);

// One sequence's cache.
class SequenceCache {
 public:
  SequenceCache(BlockPool* pool, CacheShape shape) : pool_(pool), shape_(shape) {}

  // Room for positions [0, positions). False when the pool has no block left: then nothing changed.
  bool Reserve(int64_t positions);
  // Becomes a copy of the first `positions` of `prefix`, to be extended: full blocks are shared, a partial
  // last one is copied. This cache must be empty. False when the pool has no block left: then nothing
  // changed.
  bool Fork(const SequenceCache& prefix, int64_t positions);
  // The next kBlockTokens positions are those of a full block that another sequence computed; to be read
  // only.
  void Share(CacheBlock block) { Append(std::move(block)); }
  // The same positions in another block of equal content: lets go of this sequence's own.
  void Replace(int64_t index, CacheBlock block);
  const CacheBlock& block(int64_t index) const { return blocks_[static_cast<size_t>(index)]; }
  void Clear();
  int64_t blocks() const { return static_cast<int64_t>(blocks_.size()); }
  // [layers][blocks] -> a layer's block; valid until the next change.
  std::byte* const* const* table() const { return layers_.data(); }

 private:
  void Append(CacheBlock block);
  std::byte* Layer(const CacheBlock& block, int64_t layer) const;

  BlockPool* pool_;
  CacheShape shape_;
  std::vector<CacheBlock> blocks_;
  std::vector<std::vector<std::byte*>> by_layer_;
  std::vector<std::byte* const*> layers_;
};

}  // namespace sluice
