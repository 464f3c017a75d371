#include "services/rpc/message_watch.h"

#include <utility>

#include "google/protobuf/message_lite.h"

namespace sluice {
namespace {

class MessageWatch final : public grpc::experimental::Interceptor {
 public:
  MessageWatch(const OnMessage& on_message, const char* method) : on_message_(on_message), method_(method) {}
  void Intercept(grpc::experimental::InterceptorBatchMethods* methods) override {
    using Hook = grpc::experimental::InterceptionHookPoints;
    if (methods->QueryInterceptionHookPoint(Hook::PRE_SEND_MESSAGE)) {
      if (const auto* bytes = methods->GetSerializedSendMessage())
        on_message_(method_, static_cast<int64_t>(bytes->Length()), false);
    }
    if (methods->QueryInterceptionHookPoint(Hook::POST_RECV_MESSAGE)) {
      if (const auto* message = static_cast<google::protobuf::MessageLite*>(methods->GetRecvMessage()))
        on_message_(method_, static_cast<int64_t>(message->ByteSizeLong()), true);
    }
    methods->Proceed();
  }

 private:
  const OnMessage& on_message_;
  const std::string method_;
};

class ClientFactory final : public grpc::experimental::ClientInterceptorFactoryInterface {
 public:
  explicit ClientFactory(OnMessage on_message) : on_message_(std::move(on_message)) {}
  grpc::experimental::Interceptor* CreateClientInterceptor(grpc::experimental::ClientRpcInfo* info) override {
    return new MessageWatch(on_message_, info->method());
  }

 private:
  const OnMessage on_message_;
};

class ServerFactory final : public grpc::experimental::ServerInterceptorFactoryInterface {
 public:
  explicit ServerFactory(OnMessage on_message) : on_message_(std::move(on_message)) {}
  grpc::experimental::Interceptor* CreateServerInterceptor(grpc::experimental::ServerRpcInfo* info) override {
    return new MessageWatch(on_message_, info->method());
  }

 private:
  const OnMessage on_message_;
};

}  // namespace

std::vector<std::unique_ptr<grpc::experimental::ClientInterceptorFactoryInterface>> ClientWatch(
    OnMessage on_message) {
  std::vector<std::unique_ptr<grpc::experimental::ClientInterceptorFactoryInterface>> out;
  out.push_back(std::make_unique<ClientFactory>(std::move(on_message)));
  return out;
}

std::vector<std::unique_ptr<grpc::experimental::ServerInterceptorFactoryInterface>> ServerWatch(
    OnMessage on_message) {
  std::vector<std::unique_ptr<grpc::experimental::ServerInterceptorFactoryInterface>> out;
  out.push_back(std::make_unique<ServerFactory>(std::move(on_message)));
  return out;
}

}  // namespace sluice
