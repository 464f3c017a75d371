// The gang's key-value store on rank 0, seen from another rank. Calls wait for rank 0 to be reachable, until
// their deadline.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "core/comm/key_value.h"
#include "services/rpc/peer.h"
#include "sluice/v1/learner.grpc.pb.h"

namespace sluice {

class RemoteKeyValue final : public KeyValue {
 public:
  explicit RemoteKeyValue(Peer peer);
  absl::Status Set(const std::string& key, const std::string& value, absl::Time deadline) override;
  absl::StatusOr<std::string> Get(const std::string& key, absl::Time deadline) override;
  absl::StatusOr<int64_t> Add(const std::string& key, int64_t delta, absl::Time deadline) override;
  absl::StatusOr<bool> Check(const std::vector<std::string>& keys, absl::Time deadline) override;

 private:
  const Peer peer_;
  const std::unique_ptr<v1::RendezvousService::Stub> stub_;
};

}  // namespace sluice
