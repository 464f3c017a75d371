// Words that say how a sentence means the values in it. Pure and thread-safe.
#pragma once

#include "absl/strings/string_view.h"
#include "absl/types/span.h"
#include "reward/math/extract/passage.h"

namespace sluice::math {

// What a word does to the values behind it.
enum class Turn {
  kNone,
  kDenies,   // "not", "doubt", "reject"
  kAdjunct,  // "after", "of": a given value follows, up to the next verb or comma
  kClause,   // "since", "which": a reason or remark follows, up to the next comma
  kVerb,     // "is", "costs"
  kResult    // "so", "but", "then": the main clause goes on
};
Turn TurnOf(absl::string_view word);

// The words at `i` spell `phrase`.
bool SpellsAt(TextPieces pieces, size_t i, absl::string_view phrase);

// "step", "problem": a number behind it is its name.
bool IsLabel(absl::string_view word);
// "suppose", "if": the sentence claims nothing.
bool Supposes(absl::string_view first_word);
// "check", "verification": the sentence and what follows it is no answer.
bool OpensCheck(TextPieces sentence);
// "therefore", "so": ends a check.
bool OpensConclusion(TextPieces sentence);
// Behind a value: "is wrong", "fails", "is not the answer".
bool DeniesBefore(TextPieces rest);
// Whether a sentence speaks of no value but `answer`, of no other one and of no case.
bool IsOfAnswer(TextPieces sentence, absl::string_view answer);
// Where a sentence that takes `answer` back has done so: behind "That is wrong", "I made a mistake", "upon
// checking, this fails", "9 does not work". 0 if it does not.
size_t Withdraws(TextPieces sentence, absl::string_view answer);
// Behind a value: "(intermediate result)", "at first", "is only provisional".
bool IsProvisional(TextPieces rest);
// Of several answers it says that each may be right, or that who reads may choose: "Both seem possible."
bool LeavesOpen(TextPieces sentence);
// "Yes, correct", "as expected".
bool Affirms(TextPieces sentence);
// How many words open a correction: "Wait, actually", "No,", "Sorry,"; 0 if none does.
size_t CorrectionOpening(TextPieces sentence);

}  // namespace sluice::math
