// What the sandbox's service side and its jail say to each other: fixed records over SOCK_SEQPACKET pairs,
// with descriptors beside them. Both ends are built together, so the layout is the compiler's. Everything
// that comes from a candidate travels as the content of a descriptor that the jail hands through unread.
#pragma once

#include <cstdint>

namespace sluice::jail {

inline constexpr int kControlDescriptor = 3;  // of the jail's first process
inline constexpr int kLibraryDescriptor = 4;
inline constexpr int kModulesDescriptor = 5;  // names and sources of Python modules, each ended by NUL
inline constexpr int kChannelDescriptor = 3;  // of a run that asked for one
inline constexpr uint32_t kInsideId = 1000;   // user and group that a run sees itself as
inline constexpr int kMaxPaths = 32, kPathBytes = 256;
inline constexpr int kMaxDescriptors = 5;

enum class Kind : uint32_t {
  kSetup = 1,  // to the jail: Setup, the filter
  kUnshared,   // from the jail: waits for its user map
  kMapped,     // to the jail
  kReady,      // from jail or slot: Answer
  kSpawnSlot,  // to the jail: SlotOrder and the slot's socket; answered by kReady and a pidfd
  kSettled,    // to the slot: it is in its control group now
  kOpenBox,    // to the slot: BoxOrder; answered by kReady and the scratch folder
  kCloseBox,   // to the slot; answered by kReady
  kStart,      // to the slot: RunOrder and standard input, output, error, payload and perhaps the channel
  kStarted,    // from the slot: the pidfd of the run's first process
  kDone,       // from the slot: Outcome; the whole tree is gone
};

// Steps of the enclosure that a weaker setting may leave out, as bits of Setup::without.
enum Part : uint32_t {
  kPartUser = 1,
  kPartMount = 2,
  kPartPid = 4,
  kPartNetwork = 8,
  kPartIpc = 16,
  kPartUts = 32,
  kPartControlGroupNamespace = 64,
  kPartProc = 128,
  kPartLandlock = 256,
  kPartSeccomp = 512,
};

// A path of the host that is bound read-only at the same place, or at `target`.
struct BoundPath {
  char source[kPathBytes], target[kPathBytes];
  uint32_t optional;
};

struct Setup {
  Kind kind;
  uint32_t filter_bytes;  // of the seccomp program behind the descriptor
  uint32_t without;       // Parts
  uint32_t many_users;    // 1: the map has an id for each slot beside the jail's own
  uint32_t path_count;
  BoundPath paths[kMaxPaths];
};

struct SlotOrder {
  Kind kind;
  uint32_t candidate_id;  // user and group of the slot's candidates, as the jail's user namespace counts
};

struct BoxOrder {
  Kind kind;
  uint32_t files;
  int64_t bytes;
};

struct RunOrder {
  Kind kind;
  uint32_t python, channel;
  uint32_t argument_count;  // the payload is these strings, each ended by NUL; else Python source
  uint64_t payload_bytes;
  int64_t file_bytes, stack_bytes, address_space_bytes, cpu_seconds;  // 0: not limited here
  uint32_t files, open_files, processes;
};

struct Answer {
  Kind kind;
  int32_t error;  // errno; 0: done
  char step[120];
};

enum class OutcomeKind : uint32_t { kStatus = 1, kSetupFailed, kExecFailed, kVanished };

struct Outcome {
  Kind kind;
  OutcomeKind outcome;
  int32_t value;  // kStatus: as from waitpid; failures: errno
  char step[120];
  int64_t cpu_microseconds, peak_kilobytes;  // of the processes that were waited for
};

}  // namespace sluice::jail
