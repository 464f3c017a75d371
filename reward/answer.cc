#include "reward/answer.h"

#include <optional>
#include <utility>
#include <vector>

#include "absl/strings/ascii.h"
#include "absl/strings/match.h"
#include "reward/prose_number.h"

namespace sluice {
namespace {

using absl::string_view;

constexpr string_view kBoxed = "\\boxed";
constexpr string_view kHashes = "####";

// The content of the last \boxed{...} whose braces balance. One pass: each \boxed is matched by a stack of
// open braces.
std::optional<string_view> LastBoxed(string_view text) {
  if (text.find(kBoxed) == string_view::npos) return std::nullopt;
  struct Open {
    size_t at;  // of the brace
    bool boxed;
  };
  std::vector<Open> open;
  std::optional<std::pair<size_t, size_t>> best;  // [begin, end) of the content
  size_t boxed_brace = string_view::npos;         // a brace at this place opens a box
  for (size_t i = 0; i < text.size(); ++i) {
    char c = text[i];
    if (c == '\\') {
      if (absl::StartsWith(text.substr(i), kBoxed)) {
        size_t k = i + kBoxed.size();
        while (k < text.size() && absl::ascii_isspace(static_cast<unsigned char>(text[k]))) ++k;
        if (k < text.size() && text[k] == '{') boxed_brace = k;
        i = k - 1;
      } else {
        ++i;  // an escaped character, for example \{
      }
    } else if (c == '{') {
      open.push_back({i, i == boxed_brace});
    } else if (c == '}' && !open.empty()) {
      if (open.back().boxed && (!best || open.back().at + 1 > best->first)) best = {open.back().at + 1, i};
      open.pop_back();
    }
  }
  if (!best) return std::nullopt;
  return text.substr(best->first, best->second - best->first);
}

std::optional<string_view> AfterHashes(string_view text) {
  size_t at = text.rfind(kHashes);
  if (at == string_view::npos) return std::nullopt;
  return text.substr(at + kHashes.size());
}

// The first line as a whole where it is a number, else the first number.
NumberReading ReadAfterHashes(string_view rest) {
  string_view line = absl::StripLeadingAsciiWhitespace(rest);
  line = line.substr(0, line.find('\n'));
  if (line.size() <= kMaxDigits) {
    NumberReading whole = ReadWholeNumber(line);
    if (whole.state == NumberReading::kNumber) return whole;
  }
  return FindFirstNumber(rest);
}

}  // namespace

const char* AnswerRuleName(AnswerRule rule) {
  switch (rule) {
    case AnswerRule::kBoxed:
      return "\\boxed{}";
    case AnswerRule::kHashes:
      return "####";
    case AnswerRule::kLastNumber:
      return "last number";
    case AnswerRule::kWhole:
      return "whole text";
    case AnswerRule::kNone:
      break;
  }
  return "none";
}

Answer FindAnswer(string_view completion) {
  if (auto boxed = LastBoxed(completion)) return {AnswerRule::kBoxed, ReadWholeNumber(*boxed)};
  if (auto rest = AfterHashes(completion)) {
    NumberReading reading = ReadAfterHashes(*rest);
    if (!reading.text.empty()) return {AnswerRule::kHashes, std::move(reading)};
  }
  NumberReading last = FindLastNumber(completion);
  if (last.text.empty()) return {};
  return {AnswerRule::kLastNumber, std::move(last)};
}

Answer ReadGold(string_view gold) {
  if (auto boxed = LastBoxed(gold)) return {AnswerRule::kBoxed, ReadWholeNumber(*boxed)};
  if (auto rest = AfterHashes(gold)) {
    string_view line = absl::StripLeadingAsciiWhitespace(*rest);
    return {AnswerRule::kHashes, ReadWholeNumber(line.substr(0, line.find('\n')))};
  }
  return {AnswerRule::kWhole, ReadWholeNumber(gold)};
}

}  // namespace sluice
