#include "bench/long_completions/links.h"

#include <fcntl.h>
#include <signal.h>
#include <unistd.h>

#include <cstdlib>
#include <utility>

#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "core/base/file.h"
#include "google/protobuf/message_lite.h"

namespace sluice::bench {
namespace {

int64_t NumberIn(const std::string& file) {
  int64_t out = 0;
  const absl::StatusOr<std::string> text = ReadFile(file);
  return text.ok() && absl::SimpleAtoi(*text, &out) ? out : 0;
}

}  // namespace

absl::StatusOr<Death> DeathOf(const std::string& text) {
  const std::vector<std::string> parts = absl::StrSplit(text, ':');
  Death out;
  if (parts.size() != 3 || !absl::SimpleAtoi(parts[1], &out.at))
    return absl::InvalidArgumentError(absl::StrCat("not PLACE:TIMES:VICTIM: ", text));
  out.place = parts[0];
  out.coordinator = parts[2] == "coordinator";
  return out;
}

std::string ToString(const Death& death) {
  return absl::StrCat(death.place, ":", death.at, ":", death.coordinator ? "coordinator" : "self");
}

void Deaths::Reach(const std::string& place) {
  int64_t times = 0;
  {
    absl::MutexLock lock(&mu_);
    times = ++times_[place];
  }
  for (const Death& death : plan_) {
    if (death.place != place || death.at != times) continue;
    const std::string file = absl::StrCat(folder_, "/", ToString(death), ".done");
    const int made = open(file.c_str(), O_CREAT | O_EXCL | O_WRONLY | O_CLOEXEC, 0644);
    if (made < 0) continue;  // in another life
    close(made);
    const auto victim =
        death.coordinator ? static_cast<pid_t>(NumberIn(folder_ + "/coordinator.pid")) : getpid();
    if (victim > 0) kill(victim, SIGKILL);
  }
}

bool Deaths::Happened(const std::string& folder, const Death& death) {
  return FileExists(absl::StrCat(folder, "/", ToString(death), ".done"));
}

class Messages::Look final : public grpc::experimental::Interceptor {
 public:
  Look(Messages& messages, bool pieces) : messages_(messages), pieces_(pieces) {}
  void Intercept(grpc::experimental::InterceptorBatchMethods* methods) override {
    using Hook = grpc::experimental::InterceptionHookPoints;
    if (methods->QueryInterceptionHookPoint(Hook::PRE_SEND_MESSAGE)) {
      if (const auto* bytes = methods->GetSerializedSendMessage())
        messages_.Saw(static_cast<int64_t>(bytes->Length()));
    }
    if (methods->QueryInterceptionHookPoint(Hook::POST_RECV_MESSAGE)) {
      if (const auto* message = static_cast<google::protobuf::MessageLite*>(methods->GetRecvMessage())) {
        messages_.Saw(static_cast<int64_t>(message->ByteSizeLong()));
        if (pieces_) messages_.deaths_.Reach("learner.piece");
      }
    }
    methods->Proceed();
  }

 private:
  Messages& messages_;
  const bool pieces_;
};

Messages::Messages(std::string folder, std::string name, Deaths& deaths)
    : file_(absl::StrCat(folder, "/", name, ".largest")), deaths_(deaths), largest_(NumberIn(file_)) {}

grpc::experimental::Interceptor* Messages::CreateClientInterceptor(grpc::experimental::ClientRpcInfo*) {
  return new Look(*this, false);
}

grpc::experimental::Interceptor* Messages::CreateServerInterceptor(grpc::experimental::ServerRpcInfo* info) {
  return new Look(*this, absl::string_view(info->method()).find("/AddGroup") != absl::string_view::npos);
}

void Messages::Saw(int64_t bytes) {
  absl::MutexLock lock(&mu_);
  if (bytes <= largest_) return;
  largest_ = bytes;
  if (!WriteFileAtomically(file_, absl::StrCat(bytes)).ok()) std::abort();
}

}  // namespace sluice::bench
