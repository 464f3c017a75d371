// What this machine could do at most, to say which share of it a run reaches.
#pragma once

#include "core/base/thread_pool.h"

namespace sluice::kernels {

struct MachineLimits {
  // Multiply-adds (counted as two operations) a second of all threads of the pool: of float32, and of the
  // instruction that this process's path uses for weights of bfloat16.
  double f32_flops = 0, bf16_flops = 0;
  // Bytes a second that all threads of the pool read from a buffer larger than the last cache.
  double read_bytes = 0;
};

// Takes about a second, and for that time the memory of twice the last cache (64 MiB to 1 GiB). `pool` may be
// null (one thread). Other work on the machine lowers what it finds; the best of several tries counts.
MachineLimits MeasureMachineLimits(ThreadPool* pool);

}  // namespace sluice::kernels
