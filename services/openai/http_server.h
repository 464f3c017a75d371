// HTTP/1.1 on a loopback address, with a bound on everything: POST calls at once (more get 503; a GET, which
// is answered at once and whose body is not read, is no call), the size of a
// body (413), the time that a silent client may take. A client that goes away raises its call's token.
// Thread-safe.
#pragma once

#include <cstddef>
#include <functional>
#include <memory>
#include <string>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/time/time.h"
#include "core/base/cancellation.h"
#include "services/openai/http_reply.h"

namespace sluice::openai {

struct HttpOptions {
  std::string address = "127.0.0.1:0";  // port 0: any free one
  int max_calls = 32;
  size_t max_body_bytes = size_t{8} << 20;
  absl::Duration silence_limit = absl::Seconds(30);
};

// Called on a thread of the server, which it may block. `gone` is raised when the client goes away or the
// server stops; then nobody reads the reply.
using HttpHandler = std::function<void(const HttpRequest&, const CancelToken& gone, HttpReply&)>;

class HttpServer {
 public:
  // INVALID_ARGUMENT for an address that is not loopback: there is no TLS yet. FAILED_PRECONDITION when it is
  // in use.
  static absl::StatusOr<std::unique_ptr<HttpServer>> Start(const HttpOptions& options, HttpHandler handler);
  virtual ~HttpServer() = default;
  // "127.0.0.1:41234", with the real port.
  virtual const std::string& address() const = 0;
  // Raises the tokens of all calls and returns when they have ended. Takes up to two seconds. Idempotent.
  virtual void Stop() = 0;
};

}  // namespace sluice::openai
