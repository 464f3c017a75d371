#include "core/kernels/weight_memory.h"

#include <sys/mman.h>

#include <algorithm>
#include <new>

namespace sluice::kernels {
namespace {

constexpr int64_t kAlignment = 64, kHugePage = int64_t{2} << 20;

int64_t RoundUp(int64_t value, int64_t multiple) { return (value + multiple - 1) / multiple * multiple; }

// From the system, aligned to a huge page where it is that large.
std::shared_ptr<std::byte> NewChunk(int64_t bytes) {
  const int64_t slack = bytes >= kHugePage ? kHugePage : 0;
  void* const mapped =
      mmap(nullptr, bytes + slack, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (mapped == MAP_FAILED) throw std::bad_alloc();
  std::byte* chunk = static_cast<std::byte*>(mapped);
  if (slack > 0) {
    chunk = reinterpret_cast<std::byte*>(RoundUp(reinterpret_cast<intptr_t>(mapped), kHugePage));
    madvise(chunk, bytes, MADV_HUGEPAGE);  // a wish: without huge pages it is only slower
  }
  return std::shared_ptr<std::byte>(chunk,
                                    [mapped, all = bytes + slack](std::byte*) { munmap(mapped, all); });
}

}  // namespace

std::shared_ptr<void> WeightMemory::Take(int64_t bytes) {
  const int64_t wanted = RoundUp(std::max<int64_t>(bytes, 1), kAlignment);
  if (size_ - used_ < wanted) {
    // As much again as there is, so that a small model takes little and a large one few chunks.
    constexpr int64_t kLeast = 64 << 10, kMost = 32 << 20;
    const int64_t size = RoundUp(std::max(wanted, std::clamp(taken_, kLeast, kMost)), 4096);
    chunk_ = NewChunk(size);
    size_ = size;
    used_ = 0;
  }
  const std::shared_ptr<void> piece(chunk_, chunk_.get() + used_);
  used_ += wanted;
  taken_ += wanted;
  return piece;
}

}  // namespace sluice::kernels
