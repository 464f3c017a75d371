#include "services/servers/rendezvous_adapter.h"

#include <algorithm>
#include <string>

#include "absl/strings/str_cat.h"
#include "absl/time/clock.h"
#include "core/base/status.h"
#include "services/rpc/reactors.h"

namespace sluice {
namespace {

constexpr size_t kMaxKeyBytes = 1024, kMaxValueBytes = 1 << 20;
constexpr int kMaxKeys = 1024;  // of one CheckKeys
constexpr absl::Duration kLongestWait = absl::Minutes(10);
constexpr absl::Duration kSlice = absl::Milliseconds(200);  // between looks at the caller's cancellation

absl::Status CheckKey(const std::string& key) {
  if (key.empty() || key.size() > kMaxKeyBytes) {
    return absl::InvalidArgumentError(
        absl::StrCat("key: ", key.size(), " bytes; 1 to ", kMaxKeyBytes, " are allowed"));
  }
  return absl::OkStatus();
}

absl::Time Bounded(absl::Time deadline) { return std::min(deadline, absl::Now() + kLongestWait); }

// Waits in slices: a caller that is gone is not waited for.
absl::StatusOr<std::string> GetWhileWanted(KeyValue& store, const std::string& key, const CallContext& call) {
  const absl::Time deadline = Bounded(call.deadline);
  while (true) {
    auto value = store.Get(key, std::min(deadline, absl::Now() + kSlice));
    if (!absl::IsDeadlineExceeded(value.status()) || absl::Now() >= deadline) return value;
    if (call.cancel.cancelled()) return absl::CancelledError("the caller is gone");
  }
}

}  // namespace

grpc::ServerUnaryReactor* RendezvousAdapter::SetKey(grpc::CallbackServerContext* context,
                                                    const v1::SetKeyRequest* request,
                                                    v1::SetKeyResponse* response) {
  return RunUnary(executor_, context, [this, request](const CallContext& call) -> absl::Status {
    SLUICE_RETURN_IF_ERROR(CheckKey(request->key()));
    if (request->value().size() > kMaxValueBytes) {
      return absl::InvalidArgumentError(
          absl::StrCat("value: ", request->value().size(), " bytes; at most ", kMaxValueBytes));
    }
    return store_.Set(request->key(), request->value(), Bounded(call.deadline));
  });
}

grpc::ServerUnaryReactor* RendezvousAdapter::GetKey(grpc::CallbackServerContext* context,
                                                    const v1::GetKeyRequest* request,
                                                    v1::GetKeyResponse* response) {
  return RunUnary(executor_, context, [this, request, response](const CallContext& call) -> absl::Status {
    SLUICE_RETURN_IF_ERROR(CheckKey(request->key()));
    SLUICE_ASSIGN_OR_RETURN(*response->mutable_value(), GetWhileWanted(store_, request->key(), call));
    return absl::OkStatus();
  });
}

grpc::ServerUnaryReactor* RendezvousAdapter::AddKey(grpc::CallbackServerContext* context,
                                                    const v1::AddKeyRequest* request,
                                                    v1::AddKeyResponse* response) {
  return RunUnary(executor_, context, [this, request, response](const CallContext& call) -> absl::Status {
    SLUICE_RETURN_IF_ERROR(CheckKey(request->key()));
    SLUICE_ASSIGN_OR_RETURN(const int64_t sum,
                            store_.Add(request->key(), request->delta(), Bounded(call.deadline)));
    response->set_value(sum);
    return absl::OkStatus();
  });
}

grpc::ServerUnaryReactor* RendezvousAdapter::CheckKeys(grpc::CallbackServerContext* context,
                                                       const v1::CheckKeysRequest* request,
                                                       v1::CheckKeysResponse* response) {
  return RunUnary(executor_, context, [this, request, response](const CallContext& call) -> absl::Status {
    if (request->keys_size() > kMaxKeys) {
      return absl::InvalidArgumentError(
          absl::StrCat("keys: ", request->keys_size(), " given; at most ", kMaxKeys));
    }
    for (const std::string& key : request->keys()) SLUICE_RETURN_IF_ERROR(CheckKey(key));
    SLUICE_ASSIGN_OR_RETURN(const bool exist, store_.Check({request->keys().begin(), request->keys().end()},
                                                           Bounded(call.deadline)));
    response->set_all_exist(exist);
    return absl::OkStatus();
  });
}

}  // namespace sluice
