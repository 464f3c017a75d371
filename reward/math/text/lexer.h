// Cuts an answer, LaTeX or plain text, into tokens. Spacing and sizing commands are left out; what stands in
// \text{...} is marked. Linear in the answer's size. Pure and thread-safe.
#pragma once

#include "absl/container/inlined_vector.h"
#include "absl/strings/string_view.h"
#include "reward/math/text/token.h"

namespace sluice::math {

using Tokens = absl::InlinedVector<Token, 32>;

struct LexOptions {
  bool join_thousands = true;  // "1,234" is one number; else two with a comma between
  bool scientific = true;      // "2e-4" is one number; else 2 times e, less 4
};

// The last token is kEnd. The tokens point into `text`, of less than 4 GiB, which must outlive them.
void Tokenize(absl::string_view text, const LexOptions& options, Tokens* tokens);

}  // namespace sluice::math
