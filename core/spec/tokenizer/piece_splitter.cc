#include "core/spec/tokenizer/piece_splitter.h"

#include <utility>

#include "absl/strings/str_cat.h"
#include "core/base/status.h"

namespace sluice {
namespace {

struct Segment {
  size_t begin, end;
  bool match;
};

std::vector<Segment> Segments(const std::vector<ByteSpan>& matches, size_t size, bool invert) {
  std::vector<Segment> out;
  out.reserve(matches.size() + 1);
  size_t at = 0;
  for (const auto& [begin, end] : matches) {
    if (begin > at) out.push_back({at, begin, invert});
    out.push_back({begin, end, !invert});
    at = end;
  }
  if (at < size) out.push_back({at, size, invert});
  return out;
}

// Joins neighbours as the behaviour says (normalized_string.rs, `split`, of the tokenizers library).
std::vector<Segment> Join(std::vector<Segment> in, SplitBehavior behavior) {
  if (behavior == SplitBehavior::kIsolated) return in;
  std::vector<Segment> out;
  bool before = false;
  if (behavior == SplitBehavior::kMergedWithNext) {
    for (size_t i = in.size(); i-- > 0;) {
      if (in[i].match && !before && !out.empty()) {
        out.back().begin = in[i].begin;
      } else {
        out.push_back(in[i]);
      }
      before = in[i].match;
    }
    return std::vector<Segment>(out.rbegin(), out.rend());
  }
  for (const Segment& segment : in) {
    const bool append = behavior == SplitBehavior::kContiguous ? segment.match == before && !out.empty()
                        : behavior == SplitBehavior::kMergedWithPrevious
                            ? segment.match && !before && !out.empty()
                            : false;
    if (append) {
      out.back().end = segment.end;
    } else if (behavior != SplitBehavior::kRemoved || !segment.match) {
      out.push_back(segment);
    }
    before = segment.match;
  }
  return out;
}

}  // namespace

absl::StatusOr<SplitBehavior> ParseSplitBehavior(const std::string& name, const std::string& where) {
  if (name == "Isolated") return SplitBehavior::kIsolated;
  if (name == "Removed") return SplitBehavior::kRemoved;
  if (name == "MergedWithPrevious") return SplitBehavior::kMergedWithPrevious;
  if (name == "MergedWithNext") return SplitBehavior::kMergedWithNext;
  if (name == "Contiguous") return SplitBehavior::kContiguous;
  return absl::InvalidArgumentError(
      absl::StrCat(where, ": field \"behavior\" is \"", name.substr(0, 64), "\", which is not supported"));
}

absl::Status PieceSplitter::Apply(std::vector<Piece>& pieces) const {
  std::vector<Piece> out;
  out.reserve(pieces.size() * 2);
  for (const Piece& piece : pieces) {
    SLUICE_ASSIGN_OR_RETURN(const std::vector<ByteSpan> matches, find_(piece.text));
    for (const Segment& s : Join(Segments(matches, piece.text.size(), invert_), behavior_)) {
      if (s.end > s.begin)
        out.push_back({piece.text.substr(s.begin, s.end - s.begin), piece.first && s.begin == 0});
    }
  }
  pieces = std::move(out);
  return absl::OkStatus();
}

}  // namespace sluice
