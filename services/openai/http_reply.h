// The answer to one HTTP request: a whole body at once, or a stream of server-sent events (WHATWG HTML,
// section 9.2). Not thread-safe.
#pragma once

#include <string>

#include "absl/strings/string_view.h"

namespace sluice::openai {

struct HttpRequest {
  std::string method, path;  // the path without its query
  std::string content_type;
  std::string body;
};

class HttpReply {
 public:
  virtual ~HttpReply() = default;
  // `headers` are whole lines, each ending in "\r\n". Once, and not after SendEvent.
  virtual void Send(int status, absl::string_view json, absl::string_view headers = "") = 0;
  // The first one sends status 200. False when the client is gone.
  virtual bool SendEvent(absl::string_view data) = 0;
};

}  // namespace sluice::openai
