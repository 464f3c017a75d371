// Finds the program in a completion. Pure and thread-safe; linear in the completion's size.
#pragma once

#include <string>

#include "absl/strings/string_view.h"
#include "core/rl/job_spec.h"

namespace sluice {

struct Program {
  std::string source;
  bool fenced = false;  // came from a fenced block
  std::string missing;  // why there is none; empty where there is one
};

// The last fenced block (``` or ~~~, of CommonMark, at any indentation, of which the block's lines are
// relieved) after the reasoning, that is after the last "</think>"; without a block all that is there. A
// block whose closing fence was cut off counts. Of several, the last one that is said to be in the language;
// without such a one the last that says nothing; blocks in another language ("bash", "text") only where there
// are no others. Reasoning that was never closed holds no program.
Program FindProgram(absl::string_view completion, CodeLanguage language);

}  // namespace sluice
