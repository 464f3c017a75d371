// Chat templates: the part of Jinja that released models use, interpreted with limits on steps and output.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"

namespace sluice {

struct ChatMessage {
  std::string role, content;
};

class ChatTemplate {
 public:
  // `source` is Jinja; bos and eos are given to it as bos_token and eos_token.
  static absl::StatusOr<std::unique_ptr<const ChatTemplate>> Parse(absl::string_view source,
                                                                   std::string bos_token,
                                                                   std::string eos_token);
  // From tokenizer_config.json's text (chat_template, bos_token, eos_token) and chat_template.jinja's, which
  // goes first.
  static absl::StatusOr<std::unique_ptr<const ChatTemplate>> FromModelFiles(
      absl::string_view tokenizer_config_json, absl::string_view jinja_file);
  virtual ~ChatTemplate() = default;
  virtual absl::StatusOr<std::string> Render(const std::vector<ChatMessage>& messages,
                                             bool add_generation_prompt) const = 0;
};

}  // namespace sluice
