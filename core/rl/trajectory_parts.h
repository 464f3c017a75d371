// A trajectory that travels in parts: each has what is new of it, the tokens [FirstToken, FirstToken + size),
// and what belongs to those; its spans begin at its first token. The experts of the prompt come with the
// first part. A part from token 0 on is all there was so far. Pure.
#pragma once

#include <cstddef>
#include <vector>

#include "absl/status/status.h"
#include "core/rl/types.h"

namespace sluice {

// Where the tokens of a part begin in the completion; 0 for a whole.
size_t FirstToken(const Trajectory& part);
// Of a part: the tokens of the completion up to its end.
size_t EndToken(const Trajectory& part);

// Tokens [begin, end) of a whole that is not finished. Its text is with the part from 0 on.
Trajectory PartOf(const Trajectory& whole, size_t begin, size_t end);
// The whole in parts of about `bytes`, at least a token each. None of an empty one.
std::vector<Trajectory> PartsOf(const Trajectory& whole, size_t bytes);

// Puts a part at the end of what came before it, where they overlap as it is there. INVALID_ARGUMENT, and
// nothing is done: tokens are missing in between, or it is of another completion or another model. A part
// that is finished says how the whole ended.
absl::Status Append(Trajectory part, Trajectory& whole);

}  // namespace sluice
