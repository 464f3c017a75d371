#include "services/rpc/peer.h"

#include "absl/strings/str_cat.h"
#include "core/base/retry.h"
#include "core/base/status.h"
#include "services/rpc/channel.h"
#include "services/rpc/grpc_status.h"

namespace sluice {

absl::StatusOr<Peer> Connect(const std::string& address, ChannelUse use) {
  SLUICE_ASSIGN_OR_RETURN(std::shared_ptr<grpc::Channel> channel, MakeChannel(address, use));
  return Peer{address, std::move(channel)};
}

ClientCall::ClientCall(const Peer& peer, absl::Time deadline, const CancelToken* cancel)
    : address_(peer.address) {
  if (deadline != absl::InfiniteFuture()) context_.set_deadline(absl::ToChronoTime(deadline));
  if (cancel != nullptr) on_cancel_.emplace(cancel->stop_token(), TryCancel{&context_});
}

absl::Status ClientCall::Result(const grpc::Status& status) const {
  absl::Status out = Annotate(FromGrpc(status), address_);
  if (out.ok()) return out;
  const auto& trailing = context_.GetServerTrailingMetadata();
  if (const auto pushback = trailing.find(kPushback); pushback != trailing.end())
    SetRetryAfter(ReadPushback({pushback->second.data(), pushback->second.size()}), out);
  return out;
}

absl::Status ClientCall::BadResponse(absl::string_view what) const {
  return absl::InternalError(absl::StrCat(address_, ": bad response: ", what));
}

}  // namespace sluice
