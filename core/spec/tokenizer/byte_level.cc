#include "core/spec/tokenizer/byte_level.h"

#include <array>
#include <cstdint>

#include "core/spec/text/unicode.h"

namespace sluice {
namespace {

struct Alphabet {
  std::array<std::string, 256> character;
  std::array<int, 512> byte;  // by code point; -1: none

  Alphabet() {
    byte.fill(-1);
    int next = 256;
    for (int b = 0; b < 256; ++b) {
      const bool printable = (b >= 33 && b <= 126) || (b >= 161 && b <= 172) || (b >= 174 && b <= 255);
      const int code_point = printable ? b : next++;
      AppendUtf8(code_point, character[static_cast<size_t>(b)]);
      byte[static_cast<size_t>(code_point)] = b;
    }
  }
};

const Alphabet& TheAlphabet() {
  static const Alphabet* alphabet = new Alphabet;  // immutable; never freed
  return *alphabet;
}

}  // namespace

std::string ToByteLevel(absl::string_view bytes) {
  const Alphabet& alphabet = TheAlphabet();
  std::string out;
  out.reserve(bytes.size() * 2);
  for (char c : bytes) out += alphabet.character[static_cast<uint8_t>(c)];
  return out;
}

std::string FromByteLevel(absl::string_view token) {
  const Alphabet& alphabet = TheAlphabet();
  std::string out;
  size_t at = 0;
  while (at < token.size()) {
    const int32_t c = NextCodePoint(token, at);
    const int byte = c >= 0 && c < 512 ? alphabet.byte[static_cast<size_t>(c)] : -1;
    if (byte < 0) return std::string(token);
    out.push_back(static_cast<char>(byte));
  }
  return out;
}

}  // namespace sluice
