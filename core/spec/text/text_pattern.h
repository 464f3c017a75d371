// What a "pattern" of tokenizer.json finds in a text: {"String": ...} or {"Regex": ...}. Thread-safe.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "core/spec/text/regex.h"
#include "nlohmann/json.hpp"

namespace sluice {

// The matches in a text, from left to right, none overlapping.
using Finder = std::function<absl::StatusOr<std::vector<ByteSpan>>(absl::string_view)>;

Finder FindString(std::string needle);  // not empty
absl::StatusOr<Finder> FindRegex(absl::string_view pattern, const std::string& where);

// The pattern of a Split or Replace; `where` names the field in errors.
struct TextPattern {
  Finder find;
  std::string literal;  // empty: a regular expression
};
absl::StatusOr<TextPattern> ParseTextPattern(const nlohmann::json* json, const std::string& where);

// `text` with each match replaced.
absl::StatusOr<std::string> ReplaceMatches(absl::string_view text, const Finder& find,
                                           absl::string_view content);

}  // namespace sluice
