// Running text as pieces: words, values, stops. Linear. Pure and thread-safe.
#pragma once

#include <string>
#include <vector>

#include "absl/strings/string_view.h"
#include "absl/types/span.h"

namespace sluice::math {

// What a question asks for, as its reference answer shows.
enum class Asked {
  kValue,
  kChoice,  // a letter
  kTruth,   // yes or no
  kWords
};

enum class PieceKind {
  kWord,
  kValue,     // a formula, a number with what belongs to it, a number in words; of choices a letter
  kOperator,  // "+", "=" that joins no values
  kComma,
  kBreak,  // ";", ":", a bracket, a dash
  kStop    // the end of a sentence or line
};

struct TextPiece {
  PieceKind kind = PieceKind::kWord;
  absl::string_view text;  // of a formula without its delimiters
  size_t begin = 0, end = 0;
  std::string word;      // lower case, an ASCII apostrophe; of words and values in words
  bool bold = false;     // "**" stands in front
  bool bracket = false;  // kBreak: "("
  bool question = false;
  bool formula = false;
};

std::vector<TextPiece> PiecesOf(absl::string_view text, Asked asked);

using TextPieces = absl::Span<const TextPiece>;

// Of `pieces`, each with its stop.
std::vector<TextPieces> SentencesOf(const std::vector<TextPiece>& pieces);

bool IsWord(TextPieces pieces, size_t i);   // false behind the end
bool IsValue(TextPieces pieces, size_t i);  // false behind the end
bool HasValue(TextPieces pieces);

}  // namespace sluice::math
