// The scratch folders of one box, in the mount namespace of its slot.
#pragma once

#include <cstdint>

#include "reward/sandbox/jail/failure.h"

namespace sluice::jail {

class BoxMounts {
 public:
  // One tmpfs of `bytes` and `files` behind /work, /tmp and /dev/shm, owned by `owner`.
  Failure Open(uint32_t owner, int64_t bytes, uint32_t files);
  // ENOSPC and the like: more is in use already.
  Failure Resize(int64_t bytes, uint32_t files);
  Failure Close();
  int ruleset() const { return ruleset_; }

 private:
  bool open_ = false;
  int ruleset_ = -1;
  int64_t bytes_ = 0;
  uint32_t files_ = 0;
};

}  // namespace sluice::jail
