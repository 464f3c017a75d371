#include "core/base/printable.h"

#include "absl/strings/escaping.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "core/base/character.h"

namespace sluice {
namespace {

bool In(int32_t c, int32_t first, int32_t last) { return c >= first && c <= last; }

// Unicode's control and format characters, and those that end lines.
bool IsUnseen(int32_t c) {
  return In(c, 0x80, 0x9F) || c == 0xAD || c == 0x061C || c == 0x180E || In(c, 0x200B, 0x200F) ||
         In(c, 0x2028, 0x202E) || In(c, 0x2060, 0x206F) || c == 0xFEFF || In(c, 0xFFF9, 0xFFFB) ||
         In(c, 0xE0000, 0xE0FFF);
}

}  // namespace

std::string Printable(absl::string_view text) {
  std::string out;
  out.reserve(text.size());
  for (size_t i = 0; i < text.size();) {
    const Character c = ReadCharacter(text, i);
    const absl::string_view bytes = text.substr(i, c.bytes);
    i += c.bytes;
    if (c.code_point == '\'') {
      out += '\'';
    } else if (c.bytes == 1) {  // ASCII, or no UTF-8
      absl::StrAppend(&out, absl::CHexEscape(bytes));
    } else if (!IsUnseen(c.code_point)) {
      absl::StrAppend(&out, bytes);
    } else if (c.code_point > 0xFFFF) {
      absl::StrAppendFormat(&out, "\\U%08x", c.code_point);
    } else {
      absl::StrAppendFormat(&out, "\\u%04x", c.code_point);
    }
  }
  return out;
}

absl::string_view CutToCharacters(absl::string_view text, size_t bytes) {
  if (text.size() <= bytes) return text;
  size_t end = 0;
  while (true) {
    const size_t next = end + ReadCharacter(text, end).bytes;
    if (next > bytes) return text.substr(0, end);
    end = next;
  }
}

}  // namespace sluice
