#include "services/servers/reward_adapter.h"

#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "core/base/status.h"
#include "services/rpc/reactors.h"
#include "services/wire/field_check.h"
#include "services/wire/reward.h"
#include "services/wire/types.h"

namespace sluice {
namespace {
constexpr size_t kMaxItems = 4096;  // reward.proto

// The items that can be judged, with their places, and verdicts for the others.
struct Batch {
  std::vector<ScoreItem> items;
  std::vector<int> places;
  std::vector<Verdict> verdicts;  // one for each item of the request
};

Batch ReadItems(const v1::ScoreRequest& request) {
  Batch out;
  out.verdicts.resize(request.items_size());
  for (int i = 0; i < request.items_size(); ++i) {
    absl::StatusOr<ScoreItem> item = FromProto(request.items(i));
    if (item.ok()) {
      out.items.push_back(*std::move(item));
      out.places.push_back(i);
    } else {
      out.verdicts[i].kind = VerdictKind::kUndecided;
      out.verdicts[i].detail = std::string(Within(absl::StrCat("items[", i, "]"), item.status()).message());
    }
  }
  return out;
}

}  // namespace

grpc::ServerUnaryReactor* RewardAdapter::Score(grpc::CallbackServerContext* context,
                                               const v1::ScoreRequest* request, v1::ScoreResponse* response) {
  return RunUnary(
      executor_, context,
      [this, request, response](const CallContext& call) -> absl::Status {
        FieldCheck check;
        check.AtMost(request->items_size(), kMaxItems, "items", "members");
        SLUICE_RETURN_IF_ERROR(check.status());
        SLUICE_ASSIGN_OR_RETURN(const RewardSpec spec, FromProto(request->spec()));
        Batch batch = ReadItems(*request);
        SLUICE_ASSIGN_OR_RETURN(std::vector<Verdict> judged,
                                scorer_.Score(spec, batch.items, call.deadline, call.cancel));
        // A scorer that says too little is passed on as it is: the client notices.
        if (judged.size() != batch.items.size()) {
          batch.verdicts = std::move(judged);
        } else {
          for (size_t i = 0; i < judged.size(); ++i) batch.verdicts[batch.places[i]] = std::move(judged[i]);
        }
        for (const Verdict& verdict : batch.verdicts) *response->add_verdicts() = ToProto(verdict);
        return absl::OkStatus();
      },
      request->ByteSizeLong());
}

grpc::ServerUnaryReactor* RewardAdapter::GetInfo(grpc::CallbackServerContext* context,
                                                 const v1::GetInfoRequest*, v1::GetInfoResponse* response) {
  *response = info_;
  auto* reactor = context->DefaultReactor();
  reactor->Finish(grpc::Status::OK);
  return reactor;
}

}  // namespace sluice
