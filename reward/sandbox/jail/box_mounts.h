// The scratch folders of one box, in the mount namespace of its slot.
#pragma once

#include <cstdint>

#include "reward/sandbox/jail/failure.h"
#include "reward/sandbox/jail/protocol.h"

namespace sluice::jail {

class BoxMounts {
 public:
  // One tmpfs of `bytes` and `files` behind /work, /tmp and /dev/shm, owned by `owner`.
  Failure Open(uint32_t owner, int64_t bytes, uint32_t files);
  // ENOSPC and the like: more is in use already.
  Failure Resize(int64_t bytes, uint32_t files);
  // Where nothing can be mounted: the host's folder `work` (kept until Close) is all there is, without
  // bounds.
  Failure Adopt(int work, const Setup& setup);
  Failure Close();
  int ruleset() const { return ruleset_; }
  int work() const { return work_; }  // -1: /work

 private:
  bool open_ = false;
  int ruleset_ = -1, work_ = -1;
  int64_t bytes_ = 0;
  uint32_t files_ = 0;
};

}  // namespace sluice::jail
