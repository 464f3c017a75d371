// What a line of a chat is: a command, or a question for the model. Pure.
#pragma once

#include "absl/strings/string_view.h"

namespace sluice::cli {

enum class ChatLine { kEmpty, kQuestion, kReset, kExit, kUnknownCommand };

// A line that begins with "/" is a command; with a space before it, it is a question.
ChatLine ChatLineOf(absl::string_view line);

constexpr char kChatCommands[] =
    "/reset forgets what was said, /exit leaves, Ctrl-C stops an answer; a question that begins with / needs "
    "a "
    "space before it";

}  // namespace sluice::cli
