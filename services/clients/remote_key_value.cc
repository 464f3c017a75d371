#include "services/clients/remote_key_value.h"

#include <utility>

#include "core/base/status.h"

namespace sluice {
namespace {

// One unary call that waits for its peer.
template <typename Method, typename Request, typename Response>
absl::Status Call(const Peer& peer, v1::RendezvousService::Stub& stub, Method method, const Request& request,
                  Response& response, absl::Time deadline) {
  ClientCall call(peer, deadline);
  call.context()->set_wait_for_ready(true);
  return call.Result((stub.*method)(call.context(), request, &response));
}

}  // namespace

using Stub = v1::RendezvousService::Stub;

RemoteKeyValue::RemoteKeyValue(Peer peer)
    : peer_(std::move(peer)), stub_(v1::RendezvousService::NewStub(peer_.channel)) {}

absl::Status RemoteKeyValue::Set(const std::string& key, const std::string& value, absl::Time deadline) {
  v1::SetKeyRequest request;
  request.set_key(key);
  request.set_value(value);
  v1::SetKeyResponse response;
  return Call(peer_, *stub_, &Stub::SetKey, request, response, deadline);
}

absl::StatusOr<std::string> RemoteKeyValue::Get(const std::string& key, absl::Time deadline) {
  v1::GetKeyRequest request;
  request.set_key(key);
  v1::GetKeyResponse response;
  SLUICE_RETURN_IF_ERROR(Call(peer_, *stub_, &Stub::GetKey, request, response, deadline));
  return response.value();
}

absl::StatusOr<int64_t> RemoteKeyValue::Add(const std::string& key, int64_t delta, absl::Time deadline) {
  v1::AddKeyRequest request;
  request.set_key(key);
  request.set_delta(delta);
  v1::AddKeyResponse response;
  SLUICE_RETURN_IF_ERROR(Call(peer_, *stub_, &Stub::AddKey, request, response, deadline));
  return response.value();
}

absl::StatusOr<bool> RemoteKeyValue::Check(const std::vector<std::string>& keys, absl::Time deadline) {
  v1::CheckKeysRequest request;
  request.mutable_keys()->Add(keys.begin(), keys.end());
  v1::CheckKeysResponse response;
  SLUICE_RETURN_IF_ERROR(Call(peer_, *stub_, &Stub::CheckKeys, request, response, deadline));
  return response.all_exist();
}

}  // namespace sluice
