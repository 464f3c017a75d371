#include "services/openai/http_server.h"

#include <arpa/inet.h>
#include <netinet/in.h>
#include <sys/socket.h>
#include <unistd.h>

#include <string>
#include <utility>

#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/synchronization/blocking_counter.h"
#include "absl/synchronization/notification.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace sluice::openai {
namespace {

using ::testing::HasSubstr;
using ::testing::StartsWith;

// A client's connection; closed in the end.
class Client {
 public:
  explicit Client(const std::string& address) : socket_(::socket(AF_INET, SOCK_STREAM, 0)) {
    sockaddr_in to{};
    to.sin_family = AF_INET;
    int port = 0;
    EXPECT_TRUE(absl::SimpleAtoi(address.substr(address.rfind(':') + 1), &port));
    to.sin_port = htons(static_cast<uint16_t>(port));
    to.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    EXPECT_EQ(connect(socket_, reinterpret_cast<sockaddr*>(&to), sizeof(to)), 0);
  }
  ~Client() { Close(); }
  void Close() {
    if (socket_ >= 0) close(socket_);
    socket_ = -1;
  }
  void Send(const std::string& bytes) {
    EXPECT_EQ(send(socket_, bytes.data(), bytes.size(), MSG_NOSIGNAL), static_cast<ssize_t>(bytes.size()));
  }
  // Everything until the server closes.
  std::string Read() {
    std::string out;
    char buffer[4096];
    ssize_t got = 0;
    while ((got = recv(socket_, buffer, sizeof(buffer), 0)) > 0) out.append(buffer, static_cast<size_t>(got));
    return out;
  }

 private:
  int socket_;
};

std::string Post(const std::string& body) {
  return absl::StrCat("POST /p HTTP/1.1\r\nHost: x\r\nContent-Type: application/json\r\nContent-Length: ",
                      body.size(), "\r\n\r\n", body);
}

std::unique_ptr<HttpServer> Serve(HttpOptions options, HttpHandler handler) {
  auto server = HttpServer::Start(options, std::move(handler));
  EXPECT_TRUE(server.ok()) << server.status();
  return *std::move(server);
}

TEST(HttpServer, HandsOverTheRequestAndSendsTheReply) {
  HttpRequest seen;
  const auto server = Serve({}, [&](const HttpRequest& request, const CancelToken&, HttpReply& reply) {
    seen = request;
    reply.Send(404, "{}", "X-Extra: 1\r\n");
  });
  Client client(server->address());
  client.Send(Post("{\"a\": 1}"));
  const std::string answer = client.Read();
  EXPECT_THAT(answer, StartsWith("HTTP/1.1 404 Not Found\r\n"));
  EXPECT_THAT(answer, HasSubstr("X-Extra: 1\r\n"));
  EXPECT_THAT(answer, HasSubstr("\r\n\r\n{}"));
  EXPECT_EQ(seen.method, "POST");
  EXPECT_EQ(seen.path, "/p");
  EXPECT_EQ(seen.content_type, "application/json");
  EXPECT_EQ(seen.body, "{\"a\": 1}");
}

TEST(HttpServer, StreamsEvents) {
  const auto server = Serve({}, [](const HttpRequest&, const CancelToken&, HttpReply& reply) {
    EXPECT_TRUE(reply.SendEvent("one"));
    EXPECT_TRUE(reply.SendEvent("two"));
  });
  Client client(server->address());
  client.Send(Post(""));
  const std::string answer = client.Read();
  EXPECT_THAT(answer, HasSubstr("Content-Type: text/event-stream\r\n"));
  EXPECT_THAT(answer, HasSubstr("data: one\n\n"));
  EXPECT_THAT(answer, HasSubstr("data: two\n\n"));
  EXPECT_THAT(answer, ::testing::EndsWith("0\r\n\r\n"));
}

TEST(HttpServer, RefusesABodyThatIsTooLarge) {
  HttpOptions options;
  options.max_body_bytes = 10;
  int calls = 0;
  const auto server = Serve(options, [&](const HttpRequest&, const CancelToken&, HttpReply&) { ++calls; });
  Client announced(server->address());
  announced.Send(Post(std::string(11, 'x')));
  const std::string refused = announced.Read();
  EXPECT_THAT(refused, StartsWith("HTTP/1.1 413 "));
  EXPECT_THAT(refused, HasSubstr(R"("type":"invalid_request_error")"));
  Client chunked(server->address());
  chunked.Send("POST /p HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: chunked\r\n\r\nb\r\n" +
               std::string(11, 'x') + "\r\n0\r\n\r\n");
  EXPECT_THAT(chunked.Read(), StartsWith("HTTP/1.1 413 "));
  EXPECT_EQ(calls, 0);
}

TEST(HttpServer, RefusesMoreCallsThanItTakes) {
  HttpOptions options;
  options.max_calls = 1;
  absl::Notification begun, end;
  const auto server = Serve(options, [&](const HttpRequest&, const CancelToken&, HttpReply& reply) {
    begun.Notify();
    end.WaitForNotification();
    reply.Send(200, "{}");
  });
  Client first(server->address()), second(server->address());
  first.Send(Post(""));
  begun.WaitForNotification();
  second.Send(Post(""));
  EXPECT_THAT(second.Read(), StartsWith("HTTP/1.1 503 "));
  end.Notify();
  EXPECT_THAT(first.Read(), StartsWith("HTTP/1.1 200 OK"));
}

TEST(HttpServer, AnswersGetsHoweverManyCallsThereAre) {
  HttpOptions options;
  options.max_calls = 2;
  absl::BlockingCounter begun(2);
  absl::Notification end;
  const auto server = Serve(options, [&](const HttpRequest& request, const CancelToken&, HttpReply& reply) {
    if (request.method == "POST") {
      begun.DecrementCount();
      end.WaitForNotification();
    }
    reply.Send(200, "{}");
  });
  Client first(server->address()), second(server->address());
  first.Send(Post(""));
  second.Send(Post(""));
  begun.Wait();
  for (int i = 0; i < 20; ++i) {
    Client probe(server->address()), third(server->address());
    probe.Send("GET /health HTTP/1.1\r\nHost: x\r\n\r\n");
    EXPECT_THAT(probe.Read(), StartsWith("HTTP/1.1 200 OK"));
    third.Send(Post(""));
    EXPECT_THAT(third.Read(), StartsWith("HTTP/1.1 503 "));
  }
  end.Notify();
  EXPECT_THAT(first.Read(), StartsWith("HTTP/1.1 200 OK"));
  EXPECT_THAT(second.Read(), StartsWith("HTTP/1.1 200 OK"));
}

// Ends when its client is gone or the server stops.
void WaitUntilGone(const CancelToken& gone) {
  absl::Notification raised;
  const std::stop_callback wake(gone.stop_token(), [&] { raised.Notify(); });
  raised.WaitForNotification();
}

TEST(HttpServer, RaisesTheTokenOfACallWhoseClientLeft) {
  absl::Notification begun, ended;
  const auto server = Serve({}, [&](const HttpRequest&, const CancelToken& gone, HttpReply&) {
    begun.Notify();
    WaitUntilGone(gone);
    ended.Notify();
  });
  Client client(server->address());
  client.Send(Post(""));
  begun.WaitForNotification();
  client.Close();
  ended.WaitForNotification();
}

TEST(HttpServer, EndsItsCallsWhenItStops) {
  absl::Notification begun, ended;
  const auto server = Serve({}, [&](const HttpRequest&, const CancelToken& gone, HttpReply&) {
    begun.Notify();
    WaitUntilGone(gone);
    ended.Notify();
  });
  Client client(server->address());
  client.Send(Post(""));
  begun.WaitForNotification();
  server->Stop();
  EXPECT_TRUE(ended.HasBeenNotified());
}

TEST(HttpServer, RefusesAddressesOffLoopbackAndInUse) {
  const HttpHandler nothing = [](const HttpRequest&, const CancelToken&, HttpReply&) {};
  HttpOptions options;
  options.address = "0.0.0.0:0";
  EXPECT_EQ(HttpServer::Start(options, nothing).status().code(), absl::StatusCode::kInvalidArgument);
  const auto server = Serve({}, nothing);
  options.address = server->address();
  EXPECT_EQ(HttpServer::Start(options, nothing).status().code(), absl::StatusCode::kFailedPrecondition);
}

}  // namespace
}  // namespace sluice::openai
