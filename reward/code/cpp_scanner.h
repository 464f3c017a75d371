// Reads C++ as far as it takes to tell code from comments and literals. Pure and thread-safe; linear.
#pragma once

#include <cstddef>
#include <string>

#include "absl/strings/string_view.h"

namespace sluice {

// Letters, digits, "_".
bool IsNameCharacter(char c);
// A name of C++ that is no keyword.
bool IsCppName(absl::string_view text);

// Walks over C++ and says for each byte whether it is code, not within a comment or a literal. `text` is
// borrowed.
class CodeScanner {
 public:
  explicit CodeScanner(absl::string_view text) : text_(text) {}
  // The next position that is code; npos at the end.
  size_t Next();

 private:
  bool SkipOver();
  bool SkipTo(absl::string_view end, size_t from);
  bool SkipQuoted(char quote);

  absl::string_view text_;
  size_t at_ = 0;
};

// The code alone: comments and the insides of literals are blanks. As long as `text`.
std::string CodeOnly(absl::string_view text);

// Whether `name` is a function of the global namespace, or of a named one, by the look of the code.
bool DefinesFreeFunction(absl::string_view text, absl::string_view name);
// Whether there is a class or struct of that name.
bool DefinesClass(absl::string_view text, absl::string_view name);

}  // namespace sluice
