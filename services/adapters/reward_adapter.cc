#include "services/adapters/reward_adapter.h"

#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "core/base/status.h"
#include "services/host/reactors.h"
#include "services/wire/field_check.h"
#include "services/wire/reward.h"
#include "services/wire/types.h"

namespace sluice {
namespace {
constexpr size_t kMaxItems = 4096;  // reward.proto
}

grpc::ServerUnaryReactor* RewardAdapter::Score(grpc::CallbackServerContext* context,
                                               const v1::ScoreRequest* request, v1::ScoreResponse* response) {
  return RunUnary(executor_, context, [this, request, response](const CallContext& call) -> absl::Status {
    FieldCheck check;
    check.AtMost(request->items_size(), kMaxItems, "items", "members");
    SLUICE_RETURN_IF_ERROR(check.status());
    SLUICE_ASSIGN_OR_RETURN(const RewardSpec spec, FromProto(request->spec()));
    std::vector<ScoreItem> items;
    for (int i = 0; i < request->items_size(); ++i) {
      absl::StatusOr<ScoreItem> item = FromProto(request->items(i));
      if (!item.ok()) return Within(absl::StrCat("items[", i, "]"), item.status());
      items.push_back(*std::move(item));
    }
    SLUICE_ASSIGN_OR_RETURN(const std::vector<Verdict> verdicts, scorer_.Score(spec, items, call.deadline));
    for (const Verdict& verdict : verdicts) *response->add_verdicts() = ToProto(verdict);
    return absl::OkStatus();
  });
}

}  // namespace sluice
