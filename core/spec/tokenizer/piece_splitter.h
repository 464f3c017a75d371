// Cutting of pieces at matches, with what becomes of the matches ("behavior" of tokenizer.json).
#pragma once

#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "core/spec/text/text_pattern.h"
#include "core/spec/tokenizer/pre_tokenizer.h"

namespace sluice {

enum class SplitBehavior { kIsolated, kRemoved, kMergedWithPrevious, kMergedWithNext, kContiguous };

absl::StatusOr<SplitBehavior> ParseSplitBehavior(const std::string& name, const std::string& where);

class PieceSplitter final : public PreTokenizer {
 public:
  // `invert`: what lies between the matches counts as matched instead.
  PieceSplitter(Finder find, SplitBehavior behavior, bool invert = false)
      : find_(std::move(find)), behavior_(behavior), invert_(invert) {}
  absl::Status Apply(std::vector<Piece>& pieces) const override;

 private:
  Finder find_;
  SplitBehavior behavior_;
  bool invert_;
};

}  // namespace sluice
