// Sentences that have values and claim none of them as a result. Pure and thread-safe.
#pragma once

#include "reward/math/extract/stance.h"

namespace sluice::math {

// "Plan:", behind which steps are listed.
bool OpensPlan(TextPieces sentence);

// Work to be done, with no outcome: "We need to subtract 9.", "Step 3: Simplify by 9.", "we start from 9".
bool Plans(TextPieces sentence);

// What somebody else says: "My friend says 9.", "According to the key it is 9."
bool IsAttributed(TextPieces sentence);

// What the answer does but be something: "The answer depends on 9.", "The answer ends in 9."
bool DescribesAnswer(TextPieces sentence);

// Turns to who reads, and so does what follows it: "I hope this helps!", "Let me know if", "Have a great
// day".
bool IsFarewell(TextPieces sentence);

// How sure the writer is: "Confidence: 95%".
bool IsAssurance(TextPieces sentence);

// A value that may be the one: "It could also be 9."
bool IsPossibility(TextPieces sentence);

// Values that hold in different cases: "If order matters 9, otherwise 8."
bool DistinguishesCases(TextPieces sentence);

// Begins with a case: "If it is even", "Otherwise", "The second interpretation".
bool OpensCase(TextPieces sentence);

// The writer has no answer: "I cannot determine it." Not "We don't know x, but 2x is 8."
bool Refuses(TextPieces sentence);

// The words that say that nothing is as asked for, "So there is no solution": the last clause of a sentence
// says so. Empty where none does.
TextPieces NothingIn(TextPieces sentence);

// None of the above, nor a question or supposition, concludes anything.
bool ClaimsNothing(TextPieces sentence);

// A sentence that the text breaks off: "Each box", "We divide 9 by".
bool IsBrokenOff(TextPieces last_sentence);

// The value in front of `rest` is the subject of a remark: " is odd", " was also close".
bool IsRemarkedOn(TextPieces rest);

}  // namespace sluice::math
