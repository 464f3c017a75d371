// SentencePiece's way of writing spaces as a visible character ("Metaspace" of tokenizer.json, as a
// pre-tokenizer and as a decoder).
#pragma once

#include <string>

#include "absl/status/statusor.h"
#include "core/spec/text/json.h"

namespace sluice {

struct Metaspace {
  // Where a space is put before a piece that has none: everywhere, at the beginning of the text, nowhere.
  enum class Prepend { kAlways, kFirst, kNever };
  std::string replacement;  // one character
  Prepend prepend = Prepend::kAlways;
  bool split = true;  // each word is a piece
};

absl::StatusOr<Metaspace> ReadMetaspace(JsonFields& in);

}  // namespace sluice
