// Which part of a completion is its answer. Linear. Pure and thread-safe.
#pragma once

#include <string>

#include "absl/strings/string_view.h"

namespace sluice::math {

// The first turn; marks before it are passed over. "<s>8</s>" is struck out.
absl::string_view FirstTurn(absl::string_view text);

// What is said behind the reasoning, and whether the reasoning is closed. A closing tag alone ends reasoning
// that the prompt opened.
struct Said {
  absl::string_view text;
  bool closed = true;
};
Said BehindReasoning(absl::string_view turn);

// Where the next line at or behind `from` begins that poses a question: "Question: ", "### Problem 2",
// "Human:". npos where none does.
size_t NextQuestion(absl::string_view text, size_t from);

// The text with blanks for what is struck out, "~~8~~", and for HTML that says how it looks; `text` itself
// where there is neither.
absl::string_view WithoutMarkup(absl::string_view text, std::string* storage);

}  // namespace sluice::math
