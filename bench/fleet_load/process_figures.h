// What a process uses, from /proc.
#pragma once

#include <sys/types.h>

#include <cstdint>

namespace sluice::bench {

struct ProcessFigures {
  double cpu_seconds = 0;  // user and system, since its start
  int64_t resident_bytes = 0;
  int64_t peak_resident_bytes = 0;
  int64_t descriptors = 0;
  int64_t threads = 0;
};

// Zeros for a process that is not there.
ProcessFigures FiguresOf(pid_t pid);

}  // namespace sluice::bench
