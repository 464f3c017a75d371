#include "services/cli/chat/chat_line.h"

#include "absl/strings/ascii.h"

namespace sluice::cli {

ChatLine ChatLineOf(absl::string_view line) {
  line = absl::StripTrailingAsciiWhitespace(line);
  if (absl::StripLeadingAsciiWhitespace(line).empty()) return ChatLine::kEmpty;
  if (line == "/exit") return ChatLine::kExit;
  if (line == "/reset") return ChatLine::kReset;
  return line.front() == '/' ? ChatLine::kUnknownCommand : ChatLine::kQuestion;
}

}  // namespace sluice::cli
