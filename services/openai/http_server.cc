#include "services/openai/http_server.h"

#include <atomic>
#include <utility>

#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "civetweb.h"
#include "core/base/status.h"
#include "services/openai/disconnect_watch.h"
#include "services/rpc/channel.h"

namespace sluice::openai {
namespace {

constexpr int kSpareThreads = 8;  // beyond those of calls, to refuse further ones

const char* ReasonOf(int status) {
  switch (status) {
    case 200:
      return "OK";
    case 400:
      return "Bad Request";
    case 404:
      return "Not Found";
    case 405:
      return "Method Not Allowed";
    case 413:
      return "Content Too Large";
    case 415:
      return "Unsupported Media Type";
    case 429:
      return "Too Many Requests";
    case 503:
      return "Service Unavailable";
    case 504:
      return "Gateway Timeout";
    default:
      return "Internal Server Error";
  }
}

class ConnectionReply final : public HttpReply {
 public:
  explicit ConnectionReply(mg_connection* connection) : connection_(connection) {}

  void Send(int status, absl::string_view json, absl::string_view headers) override {
    Write(absl::StrCat("HTTP/1.1 ", status, " ", ReasonOf(status),
                       "\r\nContent-Type: application/json\r\nContent-Length: ", json.size(),
                       "\r\nCache-Control: no-store\r\nConnection: close\r\n", headers, "\r\n", json));
  }

  bool SendEvent(absl::string_view data) override {
    if (!streaming_) {
      streaming_ = true;
      Write(
          "HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\nCache-Control: no-store\r\n"
          "Transfer-Encoding: chunked\r\nConnection: close\r\n\r\n");
    }
    const std::string event = absl::StrCat("data: ", data, "\n\n");
    if (alive_)
      alive_ = mg_send_chunk(connection_, event.data(), static_cast<unsigned int>(event.size())) > 0;
    return alive_;
  }

  // Ends a stream.
  void End() {
    if (streaming_ && alive_) mg_send_chunk(connection_, "", 0);
  }

 private:
  void Write(absl::string_view bytes) {
    if (alive_) alive_ = mg_write(connection_, bytes.data(), bytes.size()) == static_cast<int>(bytes.size());
  }
  mg_connection* const connection_;
  bool streaming_ = false, alive_ = true;
};

std::string ErrorJson(absl::string_view type, absl::string_view message) {
  return absl::StrCat(R"({"error":{"message":")", message, R"(","type":")", type,
                      R"(","param":null,"code":null}})");
}

// False when it is larger than `limit`.
bool ReadBody(mg_connection* connection, size_t limit, std::string& body) {
  const long long announced = mg_get_request_info(connection)->content_length;
  if (announced > static_cast<long long>(limit)) return false;
  char buffer[1 << 14];
  int got = 0;
  while ((got = mg_read(connection, buffer, sizeof(buffer))) > 0) {
    body.append(buffer, static_cast<size_t>(got));
    if (body.size() > limit) return false;
  }
  return true;
}

class CivetServer final : public HttpServer {
 public:
  CivetServer(const HttpOptions& options, HttpHandler handler)
      : options_(options), handler_(std::move(handler)) {}
  ~CivetServer() override { Stop(); }

  absl::Status Open() {
    const std::string threads = absl::StrCat(options_.max_calls + kSpareThreads);
    const std::string silence = absl::StrCat(absl::ToInt64Milliseconds(options_.silence_limit));
    const char* configuration[] = {
        "listening_ports", options_.address.c_str(),   "num_threads", threads.c_str(), "request_timeout_ms",
        silence.c_str(),   "enable_auth_domain_check", "no",          nullptr};
    mg_callbacks callbacks{};
    callbacks.begin_request = [](mg_connection* connection) {
      static_cast<CivetServer*>(mg_get_request_info(connection)->user_data)->Handle(connection);
      return 200;  // answered
    };
    callbacks.log_message = [](const mg_connection*, const char*) { return 1; };  // its errors reach us, too
    mg_init_data init{&callbacks, this, configuration};
    context_ = mg_start2(&init, nullptr);
    mg_server_port ports[1];
    if (context_ == nullptr || mg_get_server_ports(context_, 1, ports) != 1) {
      return absl::FailedPreconditionError(absl::StrCat(
          "cannot listen on ", options_.address,
          "; is another process using the port? Choose another one, or port 0 for any free one"));
    }
    address_ = absl::StrCat(options_.address.substr(0, options_.address.rfind(':')), ":", ports[0].port);
    return absl::OkStatus();
  }

  const std::string& address() const override { return address_; }

  void Stop() override {
    watch_.CancelAll();
    if (mg_context* context = context_.exchange(nullptr)) mg_stop(context);
  }

 private:
  void Handle(mg_connection* connection) {
    ConnectionReply reply(connection);
    // So that a probe of the process's health is answered however many calls there are.
    if (absl::string_view(mg_get_request_info(connection)->request_method) == "GET")
      return Answer(connection, reply);
    const int calls = calls_.fetch_add(1) + 1;
    if (calls > options_.max_calls) {
      reply.Send(503,
                 ErrorJson("server_error",
                           absl::StrCat("there are ", options_.max_calls, " calls under way already")),
                 "Retry-After: 1\r\n");
    } else {
      Answer(connection, reply);
    }
    calls_.fetch_sub(1);
  }

  void Answer(mg_connection* connection, ConnectionReply& reply) {
    const mg_request_info* info = mg_get_request_info(connection);
    HttpRequest request;
    request.method = info->request_method;
    request.path = info->local_uri == nullptr ? "" : info->local_uri;
    const char* type = mg_get_header(connection, "Content-Type");
    request.content_type = type == nullptr ? "" : type;
    if (request.method != "GET" && !ReadBody(connection, options_.max_body_bytes, request.body)) {
      return reply.Send(413,
                        ErrorJson("invalid_request_error", absl::StrCat("the body is larger than ",
                                                                        options_.max_body_bytes, " bytes")),
                        "");
    }
    const CancelToken gone;
    const int socket = SocketBetween(info->server_port, info->remote_port);
    if (socket >= 0) watch_.Add(socket, gone);
    handler_(request, gone, reply);
    if (socket >= 0) watch_.Forget(socket);
    reply.End();
  }

  const HttpOptions options_;
  const HttpHandler handler_;
  std::string address_;
  DisconnectWatch watch_;
  std::atomic<int> calls_{0};
  std::atomic<mg_context*> context_{nullptr};
};

}  // namespace

absl::StatusOr<std::unique_ptr<HttpServer>> HttpServer::Start(const HttpOptions& options,
                                                              HttpHandler handler) {
  SLUICE_RETURN_IF_ERROR(CheckLoopback(options.address, "HTTP"));
  auto server = std::make_unique<CivetServer>(options, std::move(handler));
  SLUICE_RETURN_IF_ERROR(server->Open());
  return server;
}

}  // namespace sluice::openai
