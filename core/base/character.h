// The characters of untrusted UTF-8. Pure.
#pragma once

#include <cstddef>
#include <cstdint>

#include "absl/strings/string_view.h"

namespace sluice {

constexpr int32_t kNoCodePoint = -1;

struct Character {
  size_t bytes = 1;                   // 1 to 4
  int32_t code_point = kNoCodePoint;  // kNoCodePoint: a byte that is no UTF-8
};

// The character at byte `i`, which is below text.size().
inline Character ReadCharacter(absl::string_view text, size_t i) {
  const auto byte = [&](size_t k) { return static_cast<unsigned char>(text[i + k]); };
  const unsigned char lead = byte(0);
  if (lead < 0x80) return {1, lead};
  const size_t bytes = lead >= 0xC2 && lead < 0xE0   ? 2
                       : lead >= 0xE0 && lead < 0xF0 ? 3
                       : lead >= 0xF0 && lead < 0xF5 ? 4
                                                     : 1;
  if (bytes == 1 || i + bytes > text.size()) return {};
  int32_t code_point = lead & (0x7F >> bytes);
  for (size_t k = 1; k < bytes; ++k) {
    if ((byte(k) & 0xC0) != 0x80) return {};
    code_point = (code_point << 6) | (byte(k) & 0x3F);
  }
  const bool overlong = (bytes == 3 && code_point < 0x800) || (bytes == 4 && code_point < 0x10000);
  const bool surrogate = code_point >= 0xD800 && code_point < 0xE000;
  if (overlong || surrogate || code_point > 0x10FFFF) return {};
  return {bytes, code_point};
}

}  // namespace sluice
