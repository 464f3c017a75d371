// A weight service in another process.
#pragma once

#include <functional>
#include <memory>
#include <string>

#include "core/rl/weight_channel.h"
#include "services/rpc/peer.h"
#include "sluice/v1/weights.grpc.pb.h"

namespace sluice {

class RemoteWeightChannel final : public WeightChannel {
 public:
  explicit RemoteWeightChannel(Peer peer);
  absl::StatusOr<std::string> ReadManifest(const JobId& job, PolicyVersion version,
                                           absl::Time deadline) override;
  // Ends the call when `on_chunk` fails and returns its status. INTERNAL when chunks are not in order.
  absl::Status ReadTensor(const JobId& job, PolicyVersion version, const std::string& tensor,
                          absl::Time deadline,
                          const std::function<absl::Status(absl::string_view)>& on_chunk) override;
  absl::Status ReadPatch(const PolicyRef& base, PolicyVersion version, const std::string& tensor,
                         absl::Time deadline,
                         const std::function<absl::Status(absl::string_view)>& on_chunk) override;
  absl::StatusOr<std::string> ReadModelFile(const JobId& job, const std::string& name,
                                            absl::Time deadline) override;

 private:
  absl::Status Pull(const v1::PullTensorsRequest& request, absl::Time deadline,
                    const std::function<absl::Status(absl::string_view)>& on_chunk);

  const Peer peer_;
  const std::unique_ptr<v1::WeightService::Stub> stub_;
};

}  // namespace sluice
