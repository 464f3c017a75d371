// Collectives between processes that own a CUDA device each, by c10d's ProcessGroupNCCL; only in builds of
// the preset "cuda" (target core_comm_nccl). Ranks find each other through a KeyValue. NCCL's sockets use the
// interface that NCCL_SOCKET_IFNAME names, which must be set (invariant CLOSED). No LibTorch in this header.
#pragma once

#include <memory>
#include <string>

#include "absl/status/statusor.h"
#include "core/comm/collectives.h"
#include "core/comm/key_value.h"

namespace sluice {

struct NcclOptions {
  int rank = 0, size = 1;
  int device = 0;             // CUDA device of this rank
  std::string gang = "gang";  // prefix of the keys used; put the gang's epoch into it
};

// Connects to all ranks, within the deadline. `store` must outlive the result. FAILED_PRECONDITION without
// the CUDA device or without NCCL_SOCKET_IFNAME.
absl::StatusOr<std::unique_ptr<Collectives>> ConnectNccl(const NcclOptions& options, KeyValue* store,
                                                         absl::Time deadline);

}  // namespace sluice
