#include "services/clients/remote_weight_channel.h"

#include <utility>

#include "absl/strings/str_cat.h"
#include "core/base/status.h"

namespace sluice {
namespace {
constexpr size_t kMaxChunkBytes = 1 << 20;  // weights.proto
}

RemoteWeightChannel::RemoteWeightChannel(Peer peer)
    : peer_(std::move(peer)), stub_(v1::WeightService::NewStub(peer_.channel)) {}

absl::StatusOr<std::string> RemoteWeightChannel::ReadManifest(const JobId& job, PolicyVersion version,
                                                              absl::Time deadline) {
  v1::GetManifestRequest request;
  request.set_job(job);
  request.set_policy_version(version);
  v1::GetManifestResponse response;
  ClientCall call(peer_, deadline);
  SLUICE_RETURN_IF_ERROR(call.Result(stub_->GetManifest(call.context(), request, &response)));
  return std::move(*response.mutable_manifest());
}

absl::Status RemoteWeightChannel::ReadTensor(const JobId& job, PolicyVersion version,
                                             const std::string& tensor, absl::Time deadline,
                                             const std::function<absl::Status(absl::string_view)>& on_chunk) {
  v1::PullTensorsRequest request;
  request.set_job(job);
  request.set_policy_version(version);
  request.add_tensors(tensor);
  return Pull(request, deadline, on_chunk);
}

absl::Status RemoteWeightChannel::ReadPatch(const PolicyRef& base, PolicyVersion version,
                                            const std::string& tensor, absl::Time deadline,
                                            const std::function<absl::Status(absl::string_view)>& on_chunk) {
  v1::PullTensorsRequest request;
  request.set_job(base.job);
  request.set_policy_version(version);
  request.add_tensors(tensor);
  request.mutable_base()->set_policy_version(base.version);
  request.mutable_base()->set_manifest_hash(base.manifest_hash);
  return Pull(request, deadline, on_chunk);
}

// Of one tensor.
absl::Status RemoteWeightChannel::Pull(const v1::PullTensorsRequest& request, absl::Time deadline,
                                       const std::function<absl::Status(absl::string_view)>& on_chunk) {
  const std::string& tensor = request.tensors(0);
  ClientCall call(peer_, deadline);
  const auto reader = stub_->PullTensors(call.context(), request);
  absl::Status broken = absl::OkStatus();
  int64_t offset = 0;
  v1::PullTensorsResponse chunk;
  while (broken.ok() && reader->Read(&chunk)) {
    if (chunk.tensor() != tensor || chunk.offset() != offset || chunk.data().size() > kMaxChunkBytes) {
      broken = call.BadResponse(absl::StrCat("chunk of ", chunk.data().size(), " bytes at ", chunk.offset(),
                                             " of \"", chunk.tensor(), "\" where byte ", offset, " of \"",
                                             tensor, "\" is next"));
    } else {
      offset += static_cast<int64_t>(chunk.data().size());
      broken = on_chunk(chunk.data());
    }
  }
  if (!broken.ok()) call.context()->TryCancel();
  const absl::Status status = call.Result(reader->Finish());
  return broken.ok() ? status : broken;
}

absl::StatusOr<std::string> RemoteWeightChannel::ReadModelFile(const JobId& job, const std::string& name,
                                                               absl::Time deadline) {
  v1::GetModelFileRequest request;
  request.set_job(job);
  request.set_name(name);
  v1::GetModelFileResponse response;
  ClientCall call(peer_, deadline);
  SLUICE_RETURN_IF_ERROR(call.Result(stub_->GetModelFile(call.context(), request, &response)));
  return std::move(*response.mutable_content());
}

}  // namespace sluice
