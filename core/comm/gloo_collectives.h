// Collectives between processes over TCP, by c10d's ProcessGroupGloo. Ranks find each other through a
// KeyValue; Gloo's own sockets listen on one configured address only (invariant CLOSED). No LibTorch in this
// header.
#pragma once

#include <memory>
#include <string>

#include "absl/status/statusor.h"
#include "core/comm/collectives.h"
#include "core/comm/key_value.h"

namespace sluice {

struct GlooOptions {
  int rank = 0, size = 1;
  // Exactly one: an address or host name of this machine to listen on, or the name of a network interface.
  std::string address = "127.0.0.1";
  std::string interface_name;
  // Prefix of the keys used. Ranks of another start of the gang must not share it: put the epoch into it.
  std::string gang = "gang";
};

// Connects to all ranks, within the deadline. `store` must outlive the result.
absl::StatusOr<std::unique_ptr<Collectives>> ConnectGloo(const GlooOptions& options, KeyValue* store,
                                                         absl::Time deadline);

}  // namespace sluice
