#include "core/spec/text/json_rows.h"

#include <algorithm>

#include "absl/strings/ascii.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/strip.h"
#include "core/spec/text/json.h"

namespace sluice {
namespace {

using Json = nlohmann::json;

// The parser's words without its own name and without its count of lines, which is 1 within a row.
absl::Status Malformed(absl::string_view what) {
  what.remove_prefix(std::min(what.size(), what.find("] ") + 2));
  if (absl::ConsumePrefix(&what, "parse error at line 1, "))
    return absl::InvalidArgumentError(absl::StrCat("malformed JSON at ", what));
  return absl::InvalidArgumentError(absl::StrCat("malformed JSON: ", what));
}

// Walks over the structure of a JSON text without looking at what the values say.
class Scanner {
 public:
  explicit Scanner(absl::string_view text) : text_(text) {}

  bool Take(char c) {
    SkipBlanks();
    if (at_ >= text_.size() || text_[at_] != c) return false;
    ++at_;
    return true;
  }
  bool AtEnd() {
    SkipBlanks();
    return at_ == text_.size();
  }
  // A string with its quotation marks; empty when there is none.
  absl::string_view String() {
    SkipBlanks();
    const size_t begin = at_;
    if (at_ >= text_.size() || text_[at_] != '"') return {};
    for (++at_; at_ < text_.size(); ++at_) {
      if (text_[at_] == '\\') {
        ++at_;
      } else if (text_[at_] == '"') {
        return text_.substr(begin, ++at_ - begin);
      }
    }
    at_ = text_.size();
    return {};
  }
  // Up to the comma or bracket that ends a value of the object; empty when there is none.
  absl::string_view Value() {
    SkipBlanks();
    const size_t begin = at_;
    int depth = 0;
    while (at_ < text_.size()) {
      const char c = text_[at_];
      if (c == '"') {
        if (String().empty()) return {};
        continue;
      }
      if (depth == 0 && (c == ',' || c == '}' || c == ']')) break;
      if (c == '[' || c == '{') ++depth;
      if (c == ']' || c == '}') --depth;
      ++at_;
    }
    return absl::StripTrailingAsciiWhitespace(text_.substr(begin, at_ - begin));
  }

 private:
  void SkipBlanks() {
    while (at_ < text_.size() && absl::ascii_isspace(static_cast<unsigned char>(text_[at_]))) ++at_;
  }

  const absl::string_view text_;
  size_t at_ = 0;
};

std::optional<std::string> Unescaped(absl::string_view quoted) {
  const Json name = Json::parse(quoted.begin(), quoted.end(), nullptr, /*allow_exceptions=*/false);
  if (!name.is_string()) return std::nullopt;
  return name.get<std::string>();
}

}  // namespace

absl::StatusOr<Json> ParseJsonRow(absl::string_view line) {
  if (line.size() > kMaxRowBytes) return absl::InvalidArgumentError("the line is longer than 64 MiB");
  bool too_deep = false;
  Json row;
  try {
    row = Json::parse(line.begin(), line.end(), [&](int depth, Json::parse_event_t, Json&) {
      too_deep = too_deep || depth > kMaxJsonDepth;
      return !too_deep;
    });
  } catch (const Json::exception& error) {
    return Malformed(error.what());
  }
  if (too_deep) return absl::InvalidArgumentError("nested too deeply");
  if (!row.is_object()) return absl::InvalidArgumentError("not a JSON object");
  return row;
}

std::optional<std::vector<RawMember>> RawMembers(absl::string_view row) {
  Scanner scanner(row);
  std::vector<RawMember> out;
  if (!scanner.Take('{')) return std::nullopt;
  if (scanner.Take('}')) return scanner.AtEnd() ? std::optional(out) : std::nullopt;
  do {
    const std::optional<std::string> name = Unescaped(scanner.String());
    if (!name || !scanner.Take(':')) return std::nullopt;
    const absl::string_view value = scanner.Value();
    if (value.empty()) return std::nullopt;
    out.push_back({*name, value});
  } while (scanner.Take(','));
  if (!scanner.Take('}') || !scanner.AtEnd()) return std::nullopt;
  return out;
}

}  // namespace sluice
