#include "services/servers/weight_adapter.h"

#include <algorithm>
#include <string>
#include <utility>

#include "absl/strings/str_cat.h"
#include "core/base/status.h"
#include "services/rpc/reactors.h"
#include "services/wire/field_check.h"

namespace sluice {
namespace {

constexpr size_t kMaxChunkBytes = 1 << 20;  // weights.proto
constexpr size_t kMaxTensors = 1 << 17;

absl::Status CheckVersion(const std::string& job, int64_t version) {
  FieldCheck check;
  check.Name(job, "job");
  check.NotNegative(version, "policy_version");
  return check.status();
}

using Writer = MessageWriter<v1::PullTensorsResponse>;

// Writes `bytes`, which begin at `offset` of the tensor, in chunks; moves `offset` on.
absl::Status WriteChunks(const std::string& tensor, absl::string_view bytes, int64_t& offset,
                         Writer& writer) {
  while (!bytes.empty()) {
    const absl::string_view chunk = bytes.substr(0, kMaxChunkBytes);
    v1::PullTensorsResponse response;
    response.set_tensor(tensor);
    response.set_offset(offset);
    response.set_data(chunk.data(), chunk.size());
    SLUICE_RETURN_IF_ERROR(writer.Write(std::move(response)));
    offset += static_cast<int64_t>(chunk.size());
    bytes.remove_prefix(chunk.size());
  }
  return absl::OkStatus();
}

}  // namespace

grpc::ServerUnaryReactor* WeightAdapter::GetManifest(grpc::CallbackServerContext* context,
                                                     const v1::GetManifestRequest* request,
                                                     v1::GetManifestResponse* response) {
  return RunUnary(executor_, context, [this, request, response](const CallContext& call) -> absl::Status {
    SLUICE_RETURN_IF_ERROR(CheckVersion(request->job(), request->policy_version()));
    SLUICE_ASSIGN_OR_RETURN(*response->mutable_manifest(),
                            channel_.ReadManifest(request->job(), request->policy_version(), call.deadline));
    return absl::OkStatus();
  });
}

grpc::ServerWriteReactor<v1::PullTensorsResponse>* WeightAdapter::PullTensors(
    grpc::CallbackServerContext* context, const v1::PullTensorsRequest* request) {
  return RunServerStream<v1::PullTensorsResponse>(
      executor_, context, [this, request](const CallContext& call, Writer& writer) -> absl::Status {
        SLUICE_RETURN_IF_ERROR(CheckVersion(request->job(), request->policy_version()));
        FieldCheck check;
        check.Require(!request->tensors().empty(), "tensors", "at least one is needed");
        check.AtMost(request->tensors_size(), kMaxTensors, "tensors", "names");
        for (const std::string& tensor : request->tensors()) check.Name(tensor, "tensors");
        const PolicyRef base = {request->job(), request->base().policy_version(),
                                request->base().manifest_hash(), ""};
        if (request->has_base()) {
          check.NotNegative(base.version, "base.policy_version");
          check.Require(base.manifest_hash.size() == 64, "base.manifest_hash",
                        "must be a SHA-256 in hexadecimal");
        }
        SLUICE_RETURN_IF_ERROR(check.status());
        for (const std::string& tensor : request->tensors()) {
          int64_t offset = 0;
          const auto write = [&](absl::string_view bytes) {
            return WriteChunks(tensor, bytes, offset, writer);
          };
          SLUICE_RETURN_IF_ERROR(
              request->has_base()
                  ? channel_.ReadPatch(base, request->policy_version(), tensor, call.deadline, write)
                  : channel_.ReadTensor(request->job(), request->policy_version(), tensor, call.deadline,
                                        write));
        }
        return absl::OkStatus();
      });
}

grpc::ServerUnaryReactor* WeightAdapter::GetModelFile(grpc::CallbackServerContext* context,
                                                      const v1::GetModelFileRequest* request,
                                                      v1::GetModelFileResponse* response) {
  return RunUnary(executor_, context, [this, request, response](const CallContext& call) -> absl::Status {
    FieldCheck check;
    check.Name(request->job(), "job");
    check.Name(request->name(), "name");
    const std::string& name = request->name();
    check.Require(name.find('/') == std::string::npos && name.find('\\') == std::string::npos &&
                      name != "." && name != ".." && name.find('\0') == std::string::npos,
                  "name", "must be a plain file name");
    SLUICE_RETURN_IF_ERROR(check.status());
    SLUICE_ASSIGN_OR_RETURN(*response->mutable_content(),
                            channel_.ReadModelFile(request->job(), name, call.deadline));
    return absl::OkStatus();
  });
}

}  // namespace sluice
