// Whether the words behind a number leave its value as it is. Pure and thread-safe.
#pragma once

#include "absl/strings/string_view.h"

namespace sluice::math {

enum class UnitDoubt {
  kNone,     // "apples", "red marbles": a noun that is counted
  kUnknown,  // "zorp", a mere "more": may say anything; harmless where the question says it too
  kChanges   // "th", "doubled", "zillion": makes another value of it
};

// Of a phrase behind a number, word by word.
class UnitPhraseDoubt {
 public:
  // A word as it is written; `known`: the name of a unit.
  void Add(absl::string_view word, bool known);
  // `countable`: the number counts several, so that its noun stands in the plural.
  UnitDoubt Result(bool countable) const;

 private:
  bool counted_ = false, unknown_ = false, changes_ = false;
};

}  // namespace sluice::math
