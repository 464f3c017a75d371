// How the C library's heap behaves in processes that allocate large tensors. No effect where it is not glibc.
#pragma once

namespace sluice {

// Call at the start of a process that computes on whichever thread a call arrives. By default each thread may
// get a heap of its own, and each keeps the peak of what ran there: activations of gigabytes, once for each
// thread. With this all threads share two.
void ShareHeapAmongThreads();

// Call at the start of a process that now and then holds texts of megabytes, on whichever thread: as
// ShareHeapAmongThreads, and blocks over 1 MiB go back to the system when they are freed. Costs a page fault
// for each page of such a block.
void ReturnLargeBlocks();

// Gives freed memory back to the system, also from the middle of a heap. Tens of milliseconds: after loading
// a model, not in a step. Thread-safe.
void ReturnFreedMemory();

}  // namespace sluice
