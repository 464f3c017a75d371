// The file system that candidates see.
#pragma once

#include "reward/sandbox/jail/failure.h"
#include "reward/sandbox/jail/protocol.h"

namespace sluice::jail {

inline constexpr char kScratch[] = "/work";

// What the root is made of, opened while the host's tree is still there.
struct RootSources {
  int paths[kMaxPaths];  // -1: absent, or a link
  char links[kMaxPaths][kPathBytes];
  int devices[8];
};

// Makes the calling mount namespace private and opens the paths of `setup`, with the file rights of the
// caller.
Failure OpenSources(const Setup& setup, RootSources& sources);

// Builds a read-only tmpfs root with the opened paths (read-only, no devices, no setuid), /dev with null,
// zero, full, random and urandom, a /proc of the calling process's pid namespace, and empty /work, /tmp and
// /dev/shm to mount on; then pivots into it and lets go of the host's tree. In a mount namespace whose user
// namespace the caller governs.
Failure EnterRootTree(const Setup& setup, const RootSources& sources);

}  // namespace sluice::jail
