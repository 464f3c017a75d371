// Memory for the packed weights of one model: pieces of large chunks that the system is asked to back with
// huge pages. A step at a small batch reads every weight once; with pages of 2 MiB it misses the TLB less and
// the prefetcher is not stopped every 4 KiB.
//
// Not thread-safe; the pieces are plain memory.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>

namespace sluice::kernels {

class WeightMemory {
 public:
  // `bytes` aligned to 64, content zero. A chunk returns to the system with the last piece of it. Throws
  // std::bad_alloc.
  std::shared_ptr<void> Take(int64_t bytes);

 private:
  std::shared_ptr<std::byte> chunk_;  // shared by its pieces
  int64_t used_ = 0, size_ = 0;       // of the chunk
  int64_t taken_ = 0;                 // in all
};

}  // namespace sluice::kernels
