// Pieces of a template: text, {{ output }} and {% statements %}, with Jinja's control of whitespace
// (trim_blocks and lstrip_blocks on, as transformers sets them), and the words inside them.
#pragma once

#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"

namespace sluice::chat {

enum class TokenKind {
  kText,
  kOutputBegin,
  kOutputEnd,
  kBlockBegin,
  kBlockEnd,
  kName,
  kString,
  kInt,
  kFloat,
  kOperator,
  kEnd
};

struct Token {
  TokenKind kind = TokenKind::kEnd;
  std::string text;
  int line = 0;
};

absl::StatusOr<std::vector<Token>> LexTemplate(absl::string_view source);

}  // namespace sluice::chat
