#include "core/base/heap.h"

#include <cstdlib>  // defines __GLIBC__
#if defined(__GLIBC__)
#include <malloc.h>
#endif

namespace sluice {

void ShareHeapAmongThreads() {
#if defined(__GLIBC__)
  mallopt(M_ARENA_MAX, 2);
#endif
}

void ReturnLargeBlocks() {
  ShareHeapAmongThreads();
#if defined(__GLIBC__)
  mallopt(M_MMAP_THRESHOLD, 1 << 20);
#endif
}

void ReturnFreedMemory() {
#if defined(__GLIBC__)
  malloc_trim(0);
#endif
}

}  // namespace sluice
