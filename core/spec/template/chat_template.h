// Chat templates: the part of Jinja that released models use, interpreted with limits on steps and output.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "absl/time/time.h"
#include "nlohmann/json.hpp"

namespace sluice {

struct ChatMessage {
  std::string role, content;
};

class ChatTemplate {
 public:
  // `source` is Jinja; bos and eos are given to it as bos_token and eos_token, unless they are empty.
  static absl::StatusOr<std::unique_ptr<const ChatTemplate>> Parse(absl::string_view source,
                                                                   std::string bos_token,
                                                                   std::string eos_token);
  // From tokenizer_config.json's text (chat_template, bos_token, eos_token) and chat_template.jinja's, which
  // goes first.
  static absl::StatusOr<std::unique_ptr<const ChatTemplate>> FromModelFiles(
      absl::string_view tokenizer_config_json, absl::string_view jinja_file);
  virtual ~ChatTemplate() = default;
  absl::StatusOr<std::string> Render(const std::vector<ChatMessage>& messages,
                                     bool add_generation_prompt) const;
  // `variables` is an object of all that the template is given, as transformers' apply_chat_template does:
  // messages (with content as text or parts, tool_calls, ...), tools, add_generation_prompt, enable_thinking
  // and the like. Its members keep their order. `now` is what strftime_now tells, in local time.
  virtual absl::StatusOr<std::string> RenderVariables(const nlohmann::ordered_json& variables,
                                                      absl::Time now) const = 0;
};

}  // namespace sluice
