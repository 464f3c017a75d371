// UTF-8 and the character classes that tokenizers ask for.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"

namespace sluice {

// Reads the character at `at` (< text.size()) and moves behind it; -1 and behind the longest broken part when
// it is no UTF-8 (the unit that becomes one U+FFFD, Unicode 3.9 "substitution of maximal subparts").
int32_t NextCodePoint(absl::string_view text, size_t& at);
void AppendUtf8(int32_t code_point, std::string& out);
absl::Status CheckUtf8(absl::string_view text);  // INVALID_ARGUMENT naming the byte
std::string ReplaceInvalidUtf8(absl::string_view bytes);
// Bytes at the end that are the beginning of a character, and may yet be completed: 0 to 3.
size_t UnfinishedUtf8(absl::string_view bytes);

bool IsWhitespace(int32_t code_point);
bool IsNumeric(int32_t code_point);        // general category N
bool IsDecimal(int32_t code_point);        // general category Nd
bool IsLetter(int32_t code_point);         // general category L
bool IsPunctuation(int32_t code_point);    // general category P, or a punctuation character of ASCII
bool IsWordCharacter(int32_t code_point);  // alphabetic, mark, digit, connector or joiner (Unicode TR 18)

// `text` without the white space at the asked sides.
absl::string_view StripWhitespace(absl::string_view text, bool left, bool right);
std::string WithoutMarks(absl::string_view text);  // general category M left out
std::string ToUpper(absl::string_view text);
std::string ToLower(absl::string_view text);

enum class NormalForm { kNfc, kNfd, kNfkc, kNfkd };
absl::StatusOr<std::string> Normalize(absl::string_view text, NormalForm form);

}  // namespace sluice
