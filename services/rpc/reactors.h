// Callback-API handlers whose body may block: the body runs on an Executor, the reactor is finished with its
// status. The three kinds: RunUnary, RunServerStream (the body writes), RunClientStream (the body reads). A
// body sees the call's deadline and its cancellation (a client that gave up or went away) through
// CallContext. Requests and responses live until the call is done, so a body may keep references to those of
// a unary call; a request of a server-streaming call too. A client that neither takes nor sends a message of
// a stream for `patience` loses its call.
#pragma once

#include <algorithm>
#include <memory>
#include <string>
#include <type_traits>
#include <utility>

#include "absl/base/thread_annotations.h"
#include "absl/status/status.h"
#include "absl/synchronization/mutex.h"
#include "absl/time/time.h"
#include "core/base/cancellation.h"
#include "core/base/retry.h"
#include "grpcpp/grpcpp.h"
#include "services/rpc/executor.h"
#include "services/rpc/grpc_status.h"

namespace sluice {

// The deadline of a call whose client set none, or one further away.
constexpr absl::Duration kLongestCall = absl::Hours(24);
constexpr absl::Duration kStreamPatience = absl::Minutes(2);

// What a body knows of its call.
struct CallContext {
  absl::Time deadline;
  CancelToken cancel;  // raised when the client cancelled, went away or its deadline passed
};

inline CallContext MakeCallContext(const grpc::CallbackServerContext& context) {
  const auto longest = std::chrono::system_clock::now() + absl::ToChronoSeconds(kLongestCall);
  return {absl::FromChrono(std::min(context.deadline(), longest)), {}};
}

namespace internal {

// Runs `body`, with the call or without as it likes.
template <typename Body, typename... Args>
absl::Status InvokeBody(Body& body, const CallContext& call, Args&... args) {
  if constexpr (std::is_invocable_v<Body&, const CallContext&, Args&...>) {
    return body(call, args...);
  } else {
    return body(args...);
  }
}

class UnaryReactor final : public grpc::ServerUnaryReactor {
 public:
  explicit UnaryReactor(CallContext call) : call_(std::move(call)) {}
  const CallContext& call() const { return call_; }
  // Tells a client that was refused when to try again, as gRPC's own retries do.
  void Complete(const absl::Status& status, grpc::CallbackServerContext& context) {
    if (const auto pause = RetryAfter(status)) context.AddTrailingMetadata(kPushback, PushbackOf(*pause));
    Finish(ToGrpc(status));
  }
  void OnCancel() override { call_.cancel.Cancel(); }
  void OnDone() override { delete this; }

 private:
  CallContext call_;
};

template <typename Response>
class WriteReactor;
template <typename Request>
class ReadReactor;

}  // namespace internal

// Body: absl::Status(const CallContext&) or absl::Status(). `bytes`: of a request that may be large.
template <typename Body>
grpc::ServerUnaryReactor* RunUnary(Executor& executor, grpc::CallbackServerContext* context, Body body,
                                   size_t bytes = 0) {
  auto* reactor = new internal::UnaryReactor(MakeCallContext(*context));  // deletes itself in OnDone
  const absl::Status scheduled = executor.Schedule(
      [reactor, context, body = std::move(body)]() mutable {
        reactor->Complete(internal::InvokeBody(body, reactor->call()), *context);
      },
      static_cast<int64_t>(bytes));
  if (!scheduled.ok()) reactor->Complete(scheduled, *context);
  return reactor;
}

// Where the body of a server-streaming call writes. For the body's thread only.
template <typename Response>
class MessageWriter {
 public:
  explicit MessageWriter(internal::WriteReactor<Response>* reactor) : reactor_(reactor) {}
  // Blocks until the message before this one was taken by the transport (flow control included). CANCELLED
  // when the client is gone.
  absl::Status Write(Response message);

 private:
  internal::WriteReactor<Response>* reactor_;
};

// Where the body of a client-streaming call reads. For the body's thread only.
template <typename Request>
class MessageReader {
 public:
  explicit MessageReader(internal::ReadReactor<Request>* reactor) : reactor_(reactor) {}
  // Blocks until there is a message; false at the end of the stream or when the client is gone.
  bool Read(Request& message);

 private:
  internal::ReadReactor<Request>* reactor_;
};

namespace internal {

template <typename Response>
class WriteReactor final : public grpc::ServerWriteReactor<Response> {
 public:
  WriteReactor(grpc::CallbackServerContext* context, absl::Duration patience)
      : context_(*context), patience_(patience), call_(MakeCallContext(*context)) {}
  const CallContext& call() const { return call_; }

  absl::Status Write(Response message) ABSL_LOCKS_EXCLUDED(mu_) {
    if (!AwaitWrite()) return absl::CancelledError("the client is gone");
    message_ = std::move(message);
    this->StartWrite(&message_);
    return absl::OkStatus();
  }
  void Complete(const absl::Status& status) {
    AwaitWriteDone();
    this->Finish(ToGrpc(status));
  }
  void OnWriteDone(bool ok) override {
    absl::MutexLock lock(&mu_);
    writing_ = false;
    if (!ok) broken_ = true;
  }
  void OnCancel() override { call_.cancel.Cancel(); }
  void OnDone() override { delete this; }

 private:
  // Waits for the write under way and claims the next; false when the stream is broken.
  bool AwaitWrite() ABSL_LOCKS_EXCLUDED(mu_) {
    AwaitWriteDone();
    absl::MutexLock lock(&mu_);
    if (broken_ || call_.cancel.cancelled()) return false;
    writing_ = true;
    return true;
  }
  void AwaitWriteDone() ABSL_LOCKS_EXCLUDED(mu_) {
    const absl::Condition written(
        +[](WriteReactor* r) ABSL_NO_THREAD_SAFETY_ANALYSIS { return !r->writing_; }, this);
    if (!mu_.LockWhenWithTimeout(written, patience_)) {
      context_.TryCancel();  // which ends the write
      mu_.Await(written);
    }
    mu_.Unlock();
  }

  grpc::CallbackServerContext& context_;
  const absl::Duration patience_;
  CallContext call_;
  Response message_;  // owned by the write under way
  absl::Mutex mu_;
  bool writing_ ABSL_GUARDED_BY(mu_) = false;
  bool broken_ ABSL_GUARDED_BY(mu_) = false;
};

template <typename Request>
class ReadReactor final : public grpc::ServerReadReactor<Request> {
 public:
  ReadReactor(grpc::CallbackServerContext* context, absl::Duration patience)
      : context_(*context), patience_(patience), call_(MakeCallContext(*context)) {}
  const CallContext& call() const { return call_; }

  bool Read(Request& message) ABSL_LOCKS_EXCLUDED(mu_) {
    {
      absl::MutexLock lock(&mu_);
      if (ended_) return false;
      reading_ = true;
    }
    this->StartRead(&message);
    const absl::Condition read(
        +[](ReadReactor* r) ABSL_NO_THREAD_SAFETY_ANALYSIS { return !r->reading_; }, this);
    if (!mu_.LockWhenWithTimeout(read, patience_)) {
      context_.TryCancel();  // which ends the read
      mu_.Await(read);
    }
    const bool got = !ended_;
    mu_.Unlock();
    return got;
  }
  void Complete(const absl::Status& status) { this->Finish(ToGrpc(status)); }
  void OnReadDone(bool ok) override {
    absl::MutexLock lock(&mu_);
    reading_ = false;
    if (!ok) ended_ = true;
  }
  void OnCancel() override { call_.cancel.Cancel(); }
  void OnDone() override { delete this; }

 private:
  grpc::CallbackServerContext& context_;
  const absl::Duration patience_;
  CallContext call_;
  absl::Mutex mu_;
  bool reading_ ABSL_GUARDED_BY(mu_) = false;
  bool ended_ ABSL_GUARDED_BY(mu_) = false;
};

}  // namespace internal

template <typename Response>
absl::Status MessageWriter<Response>::Write(Response message) {
  return reactor_->Write(std::move(message));
}
template <typename Request>
bool MessageReader<Request>::Read(Request& message) {
  return reactor_->Read(message);
}

// Body: absl::Status(const CallContext&, MessageWriter<Response>&) or without the context.
template <typename Response, typename Body>
grpc::ServerWriteReactor<Response>* RunServerStream(Executor& executor, grpc::CallbackServerContext* context,
                                                    Body body, absl::Duration patience = kStreamPatience,
                                                    size_t bytes = 0) {
  auto* reactor = new internal::WriteReactor<Response>(context, patience);  // deletes itself in OnDone
  const absl::Status scheduled = executor.Schedule(
      [reactor, body = std::move(body)]() mutable {
        MessageWriter<Response> writer(reactor);
        reactor->Complete(internal::InvokeBody(body, reactor->call(), writer));
      },
      static_cast<int64_t>(bytes));
  if (!scheduled.ok()) reactor->Complete(scheduled);
  return reactor;
}

// Body: absl::Status(const CallContext&, MessageReader<Request>&) or without the context.
template <typename Request, typename Body>
grpc::ServerReadReactor<Request>* RunClientStream(Executor& executor, grpc::CallbackServerContext* context,
                                                  Body body, absl::Duration patience = kStreamPatience) {
  auto* reactor = new internal::ReadReactor<Request>(context, patience);  // deletes itself in OnDone
  const absl::Status scheduled = executor.Schedule([reactor, body = std::move(body)]() mutable {
    MessageReader<Request> reader(reactor);
    reactor->Complete(internal::InvokeBody(body, reactor->call(), reader));
  });
  if (!scheduled.ok()) reactor->Complete(scheduled);
  return reactor;
}

}  // namespace sluice
