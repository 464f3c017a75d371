#include "core/spec/pre_tokenizer.h"

#include <functional>
#include <utility>

#include "absl/strings/str_cat.h"
#include "core/base/status.h"
#include "core/spec/byte_level.h"
#include "core/spec/json.h"
#include "core/spec/regex.h"
#include "core/spec/unicode.h"

namespace sluice {
namespace {

constexpr size_t kMaxParts = 32;
constexpr const char* kGpt2Pattern =
    R"('s|'t|'re|'ve|'m|'ll|'d| ?\p{L}+| ?\p{N}+| ?[^\s\p{L}\p{N}]+|\s+(?!\S)|\s+)";

enum class Behavior { kIsolated, kRemoved, kMergedWithPrevious, kMergedWithNext, kContiguous };

struct Segment {
  size_t begin, end;
  bool match;
};

using Finder = std::function<absl::StatusOr<std::vector<ByteSpan>>(const std::string&)>;

std::vector<Segment> Segments(const std::vector<ByteSpan>& matches, size_t size, bool invert) {
  std::vector<Segment> out;
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
std::vector<Segment> Join(const std::vector<Segment>& in, Behavior behavior) {
  std::vector<Segment> out;
  bool before = false;
  if (behavior == Behavior::kMergedWithNext) {
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
    const bool append = behavior == Behavior::kContiguous           ? segment.match == before && !out.empty()
                        : behavior == Behavior::kMergedWithPrevious ? segment.match && !before && !out.empty()
                                                                    : false;
    if (append) {
      out.back().end = segment.end;
    } else if (behavior != Behavior::kRemoved || !segment.match) {
      out.push_back(segment);
    }
    before = segment.match;
  }
  return out;
}

class Splitter final : public PreTokenizer {
 public:
  Splitter(Finder finder, Behavior behavior, bool invert)
      : finder_(std::move(finder)), behavior_(behavior), invert_(invert) {}

  absl::Status Apply(std::vector<std::string>& pieces) const override {
    std::vector<std::string> out;
    out.reserve(pieces.size() * 2);
    for (const std::string& piece : pieces) {
      SLUICE_ASSIGN_OR_RETURN(const std::vector<ByteSpan> matches, finder_(piece));
      for (const Segment& s : Join(Segments(matches, piece.size(), invert_), behavior_)) {
        if (s.end > s.begin) out.push_back(piece.substr(s.begin, s.end - s.begin));
      }
    }
    pieces = std::move(out);
    return absl::OkStatus();
  }

 private:
  Finder finder_;
  Behavior behavior_;
  bool invert_;
};

class ByteLevel final : public PreTokenizer {
 public:
  ByteLevel(bool add_prefix_space, std::unique_ptr<const PreTokenizer> splitter)
      : add_prefix_space_(add_prefix_space), splitter_(std::move(splitter)) {}
  bool byte_level() const override { return true; }

  absl::Status Apply(std::vector<std::string>& pieces) const override {
    for (std::string& piece : pieces) {
      if (add_prefix_space_ && piece[0] != ' ') piece.insert(piece.begin(), ' ');
    }
    if (splitter_ != nullptr) SLUICE_RETURN_IF_ERROR(splitter_->Apply(pieces));
    for (std::string& piece : pieces) piece = ToByteLevel(piece);
    return absl::OkStatus();
  }

 private:
  bool add_prefix_space_;
  std::unique_ptr<const PreTokenizer> splitter_;
};

class Sequence final : public PreTokenizer {
 public:
  explicit Sequence(std::vector<std::unique_ptr<const PreTokenizer>> parts) : parts_(std::move(parts)) {}
  bool byte_level() const override {
    for (const auto& part : parts_) {
      if (part->byte_level()) return true;
    }
    return false;
  }
  absl::Status Apply(std::vector<std::string>& pieces) const override {
    for (const auto& part : parts_) SLUICE_RETURN_IF_ERROR(part->Apply(pieces));
    return absl::OkStatus();
  }

 private:
  std::vector<std::unique_ptr<const PreTokenizer>> parts_;
};

// Each character of a class by itself.
Finder FindCharacters(bool (*belongs)(int32_t)) {
  return [belongs](const std::string& text) -> absl::StatusOr<std::vector<ByteSpan>> {
    std::vector<ByteSpan> out;
    size_t at = 0;
    while (at < text.size()) {
      const size_t begin = at;
      if (belongs(NextCodePoint(text, at))) out.emplace_back(begin, at);
    }
    return out;
  };
}

Finder FindString(std::string needle) {
  return [needle = std::move(needle)](const std::string& text) -> absl::StatusOr<std::vector<ByteSpan>> {
    std::vector<ByteSpan> out;
    size_t at = text.find(needle);
    while (at != std::string::npos) {
      out.emplace_back(at, at + needle.size());
      at = text.find(needle, at + needle.size());
    }
    return out;
  };
}

absl::StatusOr<Finder> FindRegex(absl::string_view pattern, const std::string& where) {
  absl::StatusOr<std::unique_ptr<const Regex>> regex = Regex::Compile(pattern);
  if (!regex.ok()) return Annotate(regex.status(), where);
  std::shared_ptr<const Regex> shared = *std::move(regex);  // std::function needs a copyable closure
  return Finder([shared](const std::string& text) { return shared->FindAll(text); });
}

absl::StatusOr<Behavior> ParseBehavior(const std::string& name, const std::string& where) {
  if (name == "Isolated") return Behavior::kIsolated;
  if (name == "Removed") return Behavior::kRemoved;
  if (name == "MergedWithPrevious") return Behavior::kMergedWithPrevious;
  if (name == "MergedWithNext") return Behavior::kMergedWithNext;
  if (name == "Contiguous") return Behavior::kContiguous;
  return absl::InvalidArgumentError(
      absl::StrCat(where, ": field \"behavior\" is \"", name.substr(0, 64), "\", which is not supported"));
}

using Parsed = absl::StatusOr<std::unique_ptr<const PreTokenizer>>;

Parsed MakeSplitter(Finder finder, Behavior behavior, bool invert) {
  return std::make_unique<Splitter>(std::move(finder), behavior, invert);
}

Parsed ParseSplit(JsonFields& in, const std::string& where) {
  SLUICE_ASSIGN_OR_RETURN(const Behavior behavior, ParseBehavior(in.String("behavior"), where));
  const bool invert = in.BoolOr("invert", false);
  const nlohmann::json* pattern = in.Find("pattern");
  if (pattern == nullptr) in.Fail("pattern", "is missing");
  SLUICE_RETURN_IF_ERROR(in.status());
  JsonFields inner(*pattern, where + ".pattern");
  const bool literal = inner.Has("String");
  const std::string text = inner.String(literal ? "String" : "Regex");
  if (text.empty()) inner.Fail(literal ? "String" : "Regex", "is empty");
  SLUICE_RETURN_IF_ERROR(inner.status());
  if (literal) return MakeSplitter(FindString(text), behavior, invert);
  SLUICE_ASSIGN_OR_RETURN(Finder finder, FindRegex(text, where + ".pattern"));
  return MakeSplitter(std::move(finder), behavior, invert);
}

Parsed ParseByteLevel(JsonFields& in, const std::string& where) {
  const bool prefix = in.BoolOr("add_prefix_space", true);
  const bool use_regex = in.BoolOr("use_regex", true);
  SLUICE_RETURN_IF_ERROR(in.status());
  std::unique_ptr<const PreTokenizer> splitter;
  if (use_regex) {
    SLUICE_ASSIGN_OR_RETURN(Finder finder, FindRegex(kGpt2Pattern, where));
    splitter = std::make_unique<Splitter>(std::move(finder), Behavior::kIsolated, false);
  }
  return std::make_unique<ByteLevel>(prefix, std::move(splitter));
}

Parsed ParseSequence(JsonFields& in, const std::string& where) {
  const nlohmann::json* list = in.Find("pretokenizers");
  if (list == nullptr || !list->is_array() || list->size() > kMaxParts) {
    in.Fail("pretokenizers", absl::StrCat("is not a list of at most ", kMaxParts));
    return in.status();
  }
  std::vector<std::unique_ptr<const PreTokenizer>> parts;
  for (size_t i = 0; i < list->size(); ++i) {
    SLUICE_ASSIGN_OR_RETURN(auto part,
                            ParsePreTokenizer((*list)[i], absl::StrCat(where, ".pretokenizers[", i, "]")));
    parts.push_back(std::move(part));
  }
  return std::make_unique<Sequence>(std::move(parts));
}

}  // namespace

Parsed ParsePreTokenizer(const nlohmann::json& json, const std::string& where) {
  JsonFields in(json, where);
  const std::string type = in.String("type");
  SLUICE_RETURN_IF_ERROR(in.status());
  if (type == "Sequence") return ParseSequence(in, where);
  if (type == "Split") return ParseSplit(in, where);
  if (type == "ByteLevel") return ParseByteLevel(in, where);
  if (type == "Digits") {
    const bool individual = in.BoolOr("individual_digits", false);
    SLUICE_RETURN_IF_ERROR(in.status());
    return MakeSplitter(FindCharacters(IsNumeric), individual ? Behavior::kIsolated : Behavior::kContiguous,
                        false);
  }
  if (type == "Punctuation") {
    SLUICE_ASSIGN_OR_RETURN(const Behavior behavior,
                            ParseBehavior(in.StringOr("behavior", "Isolated"), where));
    return MakeSplitter(FindCharacters(IsPunctuation), behavior, false);
  }
  if (type == "WhitespaceSplit") return MakeSplitter(FindCharacters(IsWhitespace), Behavior::kRemoved, false);
  in.Fail(
      "type",
      absl::StrCat("is \"", type.substr(0, 64),
                   "\"; supported are Sequence, Split, ByteLevel, Digits, Punctuation and WhitespaceSplit"));
  return in.status();
}

}  // namespace sluice
