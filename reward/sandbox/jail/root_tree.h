// The file system that candidates see.
#pragma once

#include "reward/sandbox/jail/failure.h"
#include "reward/sandbox/jail/protocol.h"

namespace sluice::jail {

inline constexpr char kScratch[] = "/work";
inline constexpr char kProcOptions[] = "hidepid=invisible,subset=pid";

// What the root is made of, opened while the host's tree is still there.
struct RootSources {
  int paths[kMaxPaths];  // -1: absent, or a link
  char links[kMaxPaths][kPathBytes];
  int devices[8];
};

// Makes the calling mount namespace private and opens the paths of `setup`, with the file rights of the
// caller.
Failure OpenSources(const Setup& setup, RootSources& sources);

// Builds a tmpfs root with the opened paths (read-only, no devices, no setuid), /dev with null, zero and
// urandom, and empty /proc, /work, /tmp and /dev/shm to mount on, and makes it the working
// directory. In a mount namespace whose user namespace the caller governs.
Failure BuildRootTree(const Setup& setup, const RootSources& sources);

// Mounts the new tree's /proc, of the calling process's pid namespace, while the kernel still sees the
// host's.
Failure MountProc(const Setup& setup);

// Pivots into the working directory, lets go of the host's tree and makes the root read-only.
Failure EnterRootTree();

}  // namespace sluice::jail
