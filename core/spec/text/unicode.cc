#include "core/spec/text/unicode.h"

#include <utf8proc.h>

#include <cstdlib>

#include "absl/strings/str_cat.h"

namespace sluice {
namespace {

// Length of a sequence by its first byte (0: none starts so), and the range of its second byte (Unicode table
// 3-7).
int SequenceLength(uint8_t first, uint8_t& low, uint8_t& high) {
  low = 0x80;
  high = 0xBF;
  if (first >= 0xC2 && first <= 0xDF) return 2;
  if (first >= 0xE0 && first <= 0xEF) {
    if (first == 0xE0) low = 0xA0;
    if (first == 0xED) high = 0x9F;
    return 3;
  }
  if (first >= 0xF0 && first <= 0xF4) {
    if (first == 0xF0) low = 0x90;
    if (first == 0xF4) high = 0x8F;
    return 4;
  }
  return 0;
}

}  // namespace

int32_t NextCodePoint(absl::string_view text, size_t& at) {
  const uint8_t first = static_cast<uint8_t>(text[at++]);
  if (first < 0x80) return first;
  uint8_t low, high;
  const int length = SequenceLength(first, low, high);
  if (length == 0) return -1;
  int32_t value = first & (0xFF >> (length + 1));
  for (int i = 1; i < length; ++i) {
    if (at >= text.size()) return -1;
    const uint8_t byte = static_cast<uint8_t>(text[at]);
    if (byte < low || byte > high) return -1;
    low = 0x80;
    high = 0xBF;
    value = value << 6 | (byte & 0x3F);
    ++at;
  }
  return value;
}

void AppendUtf8(int32_t code_point, std::string& out) {
  uint8_t buffer[4];
  const auto n = utf8proc_encode_char(code_point, buffer);
  out.append(reinterpret_cast<const char*>(buffer), static_cast<size_t>(n));
}

absl::Status CheckUtf8(absl::string_view text) {
  size_t at = 0;
  while (at < text.size()) {
    const size_t begin = at;
    if (NextCodePoint(text, at) < 0) {
      return absl::InvalidArgumentError(absl::StrCat("the text is not UTF-8 at byte ", begin));
    }
  }
  return absl::OkStatus();
}

std::string ReplaceInvalidUtf8(absl::string_view bytes) {
  std::string out;
  out.reserve(bytes.size());
  size_t at = 0;
  while (at < bytes.size()) {
    const size_t begin = at;
    if (NextCodePoint(bytes, at) < 0) {
      out += "\xEF\xBF\xBD";
    } else {
      out.append(bytes.data() + begin, at - begin);
    }
  }
  return out;
}

size_t UnfinishedUtf8(absl::string_view bytes) {
  for (size_t n = 1; n <= 3 && n <= bytes.size(); ++n) {
    const absl::string_view tail = bytes.substr(bytes.size() - n);
    if ((static_cast<uint8_t>(tail[0]) & 0xC0) == 0x80) continue;
    uint8_t low, high;
    if (static_cast<size_t>(SequenceLength(static_cast<uint8_t>(tail[0]), low, high)) <= n) return 0;
    size_t at = 0;
    NextCodePoint(tail, at);
    return at == n ? n : 0;  // the reader came to the end
  }
  return 0;
}

bool IsWhitespace(int32_t c) {
  if ((c >= 9 && c <= 13) || c == 0x85) return true;
  const utf8proc_category_t category = utf8proc_category(c);
  return category == UTF8PROC_CATEGORY_ZS || category == UTF8PROC_CATEGORY_ZL ||
         category == UTF8PROC_CATEGORY_ZP;
}

bool IsNumeric(int32_t c) {
  const utf8proc_category_t category = utf8proc_category(c);
  return category >= UTF8PROC_CATEGORY_ND && category <= UTF8PROC_CATEGORY_NO;
}

bool IsDecimal(int32_t c) { return utf8proc_category(c) == UTF8PROC_CATEGORY_ND; }

bool IsLetter(int32_t c) {
  const utf8proc_category_t category = utf8proc_category(c);
  return category >= UTF8PROC_CATEGORY_LU && category <= UTF8PROC_CATEGORY_LO;
}

bool IsPunctuation(int32_t c) {
  if ((c >= 33 && c <= 47) || (c >= 58 && c <= 64) || (c >= 91 && c <= 96) || (c >= 123 && c <= 126))
    return true;
  const utf8proc_category_t category = utf8proc_category(c);
  return category >= UTF8PROC_CATEGORY_PC && category <= UTF8PROC_CATEGORY_PO;
}

// Letters by the property Other_Alphabetic: circled, squared and their kin.
bool IsLetterSymbol(int32_t c) {
  return (c >= 0x24B6 && c <= 0x24E9) || (c >= 0x1F130 && c <= 0x1F149) || (c >= 0x1F150 && c <= 0x1F169) ||
         (c >= 0x1F170 && c <= 0x1F189);
}

bool IsWordCharacter(int32_t c) {
  if (IsLetterSymbol(c)) return true;
  const utf8proc_category_t category = utf8proc_category(c);
  return (category >= UTF8PROC_CATEGORY_LU && category <= UTF8PROC_CATEGORY_ND) ||
         category == UTF8PROC_CATEGORY_NL || category == UTF8PROC_CATEGORY_PC || c == 0x200C || c == 0x200D;
}

std::string ToUpper(absl::string_view text) {
  std::string out;
  out.reserve(text.size());
  size_t at = 0;
  while (at < text.size()) {
    const int32_t c = NextCodePoint(text, at);
    if (c == 0xDF) {
      out += "SS";
    } else {
      AppendUtf8(c < 0 ? 0xFFFD : utf8proc_toupper(c), out);
    }
  }
  return out;
}

std::string ToLower(absl::string_view text) {
  std::string out;
  out.reserve(text.size());
  size_t at = 0;
  while (at < text.size()) {
    const int32_t c = NextCodePoint(text, at);
    AppendUtf8(c < 0 ? 0xFFFD : utf8proc_tolower(c), out);
    if (c == 0x130) out += "\u0307";  // the only character whose lower case is longer
  }
  return out;
}

absl::string_view StripWhitespace(absl::string_view text, bool left, bool right) {
  while (left && !text.empty()) {
    size_t at = 0;
    if (!IsWhitespace(NextCodePoint(text, at))) break;
    text.remove_prefix(at);
  }
  while (right && !text.empty()) {
    size_t begin = text.size() - 1;
    while (begin > 0 && (static_cast<uint8_t>(text[begin]) & 0xC0) == 0x80) --begin;
    size_t at = begin;
    if (!IsWhitespace(NextCodePoint(text, at))) break;
    text = text.substr(0, begin);
  }
  return text;
}

std::string WithoutMarks(absl::string_view text) {
  std::string out;
  size_t at = 0;
  while (at < text.size()) {
    const size_t begin = at;
    const utf8proc_category_t category = utf8proc_category(NextCodePoint(text, at));
    const bool mark = category >= UTF8PROC_CATEGORY_MN && category <= UTF8PROC_CATEGORY_ME;
    if (!mark) out.append(text.data() + begin, at - begin);
  }
  return out;
}

absl::StatusOr<std::string> Normalize(absl::string_view text, NormalForm form) {
  const bool compose = form == NormalForm::kNfc || form == NormalForm::kNfkc;
  const bool compatible = form == NormalForm::kNfkc || form == NormalForm::kNfkd;
  int options = UTF8PROC_STABLE | (compose ? UTF8PROC_COMPOSE : UTF8PROC_DECOMPOSE);
  if (compatible) options |= UTF8PROC_COMPAT;
  utf8proc_uint8_t* mapped = nullptr;
  const auto n = utf8proc_map(reinterpret_cast<const utf8proc_uint8_t*>(text.data()),
                              static_cast<utf8proc_ssize_t>(text.size()), &mapped,
                              static_cast<utf8proc_option_t>(options));
  if (n < 0) return absl::InvalidArgumentError(absl::StrCat("normalizing the text: ", utf8proc_errmsg(n)));
  std::string out(reinterpret_cast<const char*>(mapped), static_cast<size_t>(n));
  std::free(mapped);
  return out;
}

}  // namespace sluice
