#include "core/spec/tokenizer/pre_tokenizer.h"

#include <utility>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_replace.h"
#include "core/base/status.h"
#include "core/spec/text/json.h"
#include "core/spec/text/text_pattern.h"
#include "core/spec/text/unicode.h"
#include "core/spec/tokenizer/byte_level.h"
#include "core/spec/tokenizer/metaspace.h"
#include "core/spec/tokenizer/piece_splitter.h"

namespace sluice {
namespace {

constexpr size_t kMaxSplitters = 32;
constexpr const char* kGpt2Pattern =
    R"('s|'t|'re|'ve|'m|'ll|'d| ?\p{L}+| ?\p{N}+| ?[^\s\p{L}\p{N}]+|\s+(?!\S)|\s+)";

class ByteLevel final : public PreTokenizer {
 public:
  ByteLevel(bool add_prefix_space, std::unique_ptr<const PreTokenizer> splitter)
      : add_prefix_space_(add_prefix_space), splitter_(std::move(splitter)) {}

  absl::Status Apply(std::vector<Piece>& pieces) const override {
    for (Piece& piece : pieces) {
      if (add_prefix_space_ && piece.text[0] != ' ') piece.text.insert(piece.text.begin(), ' ');
    }
    if (splitter_ != nullptr) SLUICE_RETURN_IF_ERROR(splitter_->Apply(pieces));
    for (Piece& piece : pieces) piece.text = ToByteLevel(piece.text);
    return absl::OkStatus();
  }

 private:
  bool add_prefix_space_;
  std::unique_ptr<const PreTokenizer> splitter_;
};

class MetaspaceSplitter final : public PreTokenizer {
 public:
  MetaspaceSplitter(Metaspace metaspace, std::unique_ptr<const PreTokenizer> splitter)
      : metaspace_(std::move(metaspace)), splitter_(std::move(splitter)) {}

  absl::Status Apply(std::vector<Piece>& pieces) const override {
    using Prepend = Metaspace::Prepend;
    for (Piece& piece : pieces) {
      piece.text = absl::StrReplaceAll(piece.text, {{" ", metaspace_.replacement}});
      const bool prepend =
          metaspace_.prepend == Prepend::kAlways || (metaspace_.prepend == Prepend::kFirst && piece.first);
      if (prepend && !absl::StartsWith(piece.text, metaspace_.replacement))
        piece.text.insert(0, metaspace_.replacement);
    }
    return splitter_ == nullptr ? absl::OkStatus() : splitter_->Apply(pieces);
  }

 private:
  Metaspace metaspace_;
  std::unique_ptr<const PreTokenizer> splitter_;  // null: the pieces stay whole
};

class SplitterSequence final : public PreTokenizer {
 public:
  explicit SplitterSequence(std::vector<std::unique_ptr<const PreTokenizer>> parts)
      : parts_(std::move(parts)) {}
  absl::Status Apply(std::vector<Piece>& pieces) const override {
    for (const auto& part : parts_) SLUICE_RETURN_IF_ERROR(part->Apply(pieces));
    return absl::OkStatus();
  }

 private:
  std::vector<std::unique_ptr<const PreTokenizer>> parts_;
};

// Each character of a class by itself.
Finder FindCharacters(bool (*belongs)(int32_t)) {
  return [belongs](absl::string_view text) -> absl::StatusOr<std::vector<ByteSpan>> {
    std::vector<ByteSpan> out;
    size_t at = 0;
    while (at < text.size()) {
      const size_t begin = at;
      if (belongs(NextCodePoint(text, at))) out.emplace_back(begin, at);
    }
    return out;
  };
}

// \w+|[^\w\s]+
Finder FindWords() {
  return [](absl::string_view text) -> absl::StatusOr<std::vector<ByteSpan>> {
    std::vector<ByteSpan> out;
    bool in_word = false, open = false;
    size_t at = 0;
    while (at < text.size()) {
      const size_t begin = at;
      const int32_t c = NextCodePoint(text, at);
      const bool word = IsWordCharacter(c), space = !word && IsWhitespace(c);
      if (!space && open && word == in_word) {
        out.back().second = at;
      } else if (!space) {
        out.emplace_back(begin, at);
      }
      open = !space;
      in_word = word;
    }
    return out;
  };
}

using ParsedSplitter = absl::StatusOr<std::unique_ptr<const PreTokenizer>>;

ParsedSplitter MakeSplitter(Finder finder, SplitBehavior behavior, bool invert = false) {
  return std::make_unique<PieceSplitter>(std::move(finder), behavior, invert);
}

ParsedSplitter ParseSplit(JsonFields& in, const std::string& where) {
  SLUICE_ASSIGN_OR_RETURN(const SplitBehavior behavior, ParseSplitBehavior(in.String("behavior"), where));
  const bool invert = in.BoolOr("invert", false);
  SLUICE_RETURN_IF_ERROR(in.status());
  SLUICE_ASSIGN_OR_RETURN(TextPattern pattern, ParseTextPattern(in.Find("pattern"), where + ".pattern"));
  return MakeSplitter(std::move(pattern.find), behavior, invert);
}

ParsedSplitter ParseByteLevel(JsonFields& in, const std::string& where) {
  const bool prefix = in.BoolOr("add_prefix_space", true);
  const bool use_regex = in.BoolOr("use_regex", true);
  SLUICE_RETURN_IF_ERROR(in.status());
  std::unique_ptr<const PreTokenizer> splitter;
  if (use_regex) {
    SLUICE_ASSIGN_OR_RETURN(Finder finder, FindRegex(kGpt2Pattern, where));
    splitter = std::make_unique<PieceSplitter>(std::move(finder), SplitBehavior::kIsolated);
  }
  return std::make_unique<ByteLevel>(prefix, std::move(splitter));
}

ParsedSplitter ParseMetaspaceSplitter(JsonFields& in) {
  SLUICE_ASSIGN_OR_RETURN(Metaspace metaspace, ReadMetaspace(in));
  std::unique_ptr<const PreTokenizer> splitter;
  if (metaspace.split) {
    splitter =
        std::make_unique<PieceSplitter>(FindString(metaspace.replacement), SplitBehavior::kMergedWithNext);
  }
  return std::make_unique<MetaspaceSplitter>(std::move(metaspace), std::move(splitter));
}

ParsedSplitter ParseSplitterSequence(JsonFields& in, const std::string& where) {
  const nlohmann::json* list = in.Find("pretokenizers");
  if (list == nullptr || !list->is_array() || list->size() > kMaxSplitters) {
    in.Fail("pretokenizers", absl::StrCat("is not a list of at most ", kMaxSplitters));
    return in.status();
  }
  std::vector<std::unique_ptr<const PreTokenizer>> parts;
  for (size_t i = 0; i < list->size(); ++i) {
    SLUICE_ASSIGN_OR_RETURN(auto part,
                            ParsePreTokenizer(&(*list)[i], absl::StrCat(where, ".pretokenizers[", i, "]")));
    parts.push_back(std::move(part));
  }
  return std::make_unique<SplitterSequence>(std::move(parts));
}

ParsedSplitter ParseCharDelimiter(JsonFields& in) {
  const std::string delimiter = in.String("delimiter");
  if (delimiter.empty()) in.Fail("delimiter", "is empty");
  SLUICE_RETURN_IF_ERROR(in.status());
  return MakeSplitter(FindString(delimiter), SplitBehavior::kRemoved);
}

ParsedSplitter MakeBert() {
  std::vector<std::unique_ptr<const PreTokenizer>> parts;
  parts.push_back(std::make_unique<PieceSplitter>(FindCharacters(IsWhitespace), SplitBehavior::kRemoved));
  parts.push_back(std::make_unique<PieceSplitter>(FindCharacters(IsPunctuation), SplitBehavior::kIsolated));
  return std::make_unique<SplitterSequence>(std::move(parts));
}

}  // namespace

ParsedSplitter ParsePreTokenizer(const nlohmann::json* json, const std::string& where) {
  if (json == nullptr) return nullptr;
  JsonFields in(*json, where);
  const std::string type = in.String("type");
  SLUICE_RETURN_IF_ERROR(in.status());
  if (type == "Sequence") return ParseSplitterSequence(in, where);
  if (type == "Split") return ParseSplit(in, where);
  if (type == "ByteLevel") return ParseByteLevel(in, where);
  if (type == "Metaspace") return ParseMetaspaceSplitter(in);
  if (type == "Digits") {
    const bool individual = in.BoolOr("individual_digits", false);
    SLUICE_RETURN_IF_ERROR(in.status());
    return MakeSplitter(FindCharacters(IsNumeric),
                        individual ? SplitBehavior::kIsolated : SplitBehavior::kContiguous);
  }
  if (type == "Punctuation") {
    SLUICE_ASSIGN_OR_RETURN(const SplitBehavior behavior,
                            ParseSplitBehavior(in.StringOr("behavior", "Isolated"), where));
    SLUICE_RETURN_IF_ERROR(in.status());
    return MakeSplitter(FindCharacters(IsPunctuation), behavior);
  }
  if (type == "Whitespace") return MakeSplitter(FindWords(), SplitBehavior::kRemoved, /*invert=*/true);
  if (type == "WhitespaceSplit") return MakeSplitter(FindCharacters(IsWhitespace), SplitBehavior::kRemoved);
  if (type == "CharDelimiterSplit") return ParseCharDelimiter(in);
  if (type == "BertPreTokenizer") return MakeBert();
  in.Fail("type", absl::StrCat("is \"", type.substr(0, 64),
                               "\"; supported are SplitterSequence, Split, ByteLevel, "
                               "Metaspace, Digits, Punctuation, "
                               "Whitespace, WhitespaceSplit, "
                               "CharDelimiterSplit and BertPreTokenizer"));
  return in.status();
}

}  // namespace sluice
