// The encoding of typed_value.h. CPython's Python/marshal.c writes it; the type codes are stable since 2.5.
#include <cstring>

#include "absl/base/internal/endian.h"
#include "absl/strings/str_cat.h"
#include "core/base/status.h"
#include "reward/code/typed_value.h"

namespace sluice {
namespace {

constexpr int kDigitBits = 15;

void PutInt32(uint32_t value, std::string& out) {
  char bytes[4];
  absl::little_endian::Store32(bytes, value);
  out.append(bytes, 4);
}

void PutDouble(double value, std::string& out) {
  uint64_t bits;
  std::memcpy(&bits, &value, sizeof bits);
  char bytes[8];
  absl::little_endian::Store64(bytes, bits);
  out.append(bytes, 8);
}

void PutSized(char code, absl::string_view content, std::string& out) {
  out.push_back(code);
  PutInt32(static_cast<uint32_t>(content.size()), out);
  out.append(content.data(), content.size());
}

void PutLong(bool negative, absl::string_view digits, std::string& out) {
  int32_t count = static_cast<int32_t>(digits.size() / 2);
  out.push_back('l');
  PutInt32(static_cast<uint32_t>(negative ? -count : count), out);
  out.append(digits.data(), digits.size());
}

void PutInteger(int64_t value, std::string& out) {
  if (value >= INT32_MIN && value <= INT32_MAX) {
    out.push_back('i');
    PutInt32(static_cast<uint32_t>(value), out);
    return;
  }
  uint64_t magnitude = value < 0 ? ~static_cast<uint64_t>(value) + 1 : static_cast<uint64_t>(value);
  std::string digits;
  for (; magnitude != 0; magnitude >>= kDigitBits) {
    digits.push_back(static_cast<char>(magnitude & 0xff));
    digits.push_back(static_cast<char>((magnitude >> 8) & 0x7f));
  }
  PutLong(value < 0, digits, out);
}

void Put(const TypedValue& v, std::string& out) {
  switch (v.kind) {
    case TypedValue::kNone:
      out.push_back('N');
      return;
    case TypedValue::kBool:
      out.push_back(v.integer ? 'T' : 'F');
      return;
    case TypedValue::kEllipsis:
      out.push_back('.');
      return;
    case TypedValue::kInteger:
      return PutInteger(v.integer, out);
    case TypedValue::kBigInteger:
      return PutLong(v.integer < 0, v.text, out);
    case TypedValue::kFloat:
      out.push_back('g');
      return PutDouble(v.real, out);
    case TypedValue::kComplex:
      out.push_back('y');
      PutDouble(v.items[0].real, out);
      return PutDouble(v.items[1].real, out);
    case TypedValue::kText:
      return PutSized('u', v.text, out);
    case TypedValue::kBytes:
      return PutSized('s', v.text, out);
    case TypedValue::kDict:
      out.push_back('{');
      for (const TypedValue& item : v.items) Put(item, out);
      out.push_back('0');
      return;
    default:
      break;
  }
  out.push_back(v.kind == TypedValue::kList    ? '['
                : v.kind == TypedValue::kTuple ? '('
                : v.kind == TypedValue::kSet   ? '<'
                                               : '>');
  PutInt32(static_cast<uint32_t>(v.items.size()), out);
  for (const TypedValue& item : v.items) Put(item, out);
}

// Bytes of the character that begins `s`, surrogates included; 0 where it is none.
size_t CharacterBytes(absl::string_view s) {
  auto byte = [&](size_t i) { return static_cast<unsigned char>(s[i]); };
  if (byte(0) < 0x80) return 1;
  size_t n = byte(0) >= 0xf0 ? 4 : byte(0) >= 0xe0 ? 3 : 2;
  if (byte(0) < 0xc2 || byte(0) > 0xf4 || s.size() < n) return 0;
  for (size_t i = 1; i < n; ++i) {
    if ((byte(i) & 0xc0) != 0x80) return 0;
  }
  if (byte(0) == 0xe0 && byte(1) < 0xa0) return 0;
  if (byte(0) == 0xf0 && byte(1) < 0x90) return 0;
  if (byte(0) == 0xf4 && byte(1) > 0x8f) return 0;
  return n;
}

bool IsHashable(const TypedValue& v) {
  if (v.kind == TypedValue::kList || v.kind == TypedValue::kSet || v.kind == TypedValue::kDict) return false;
  if (v.kind != TypedValue::kTuple) return true;
  for (const TypedValue& item : v.items) {
    if (!IsHashable(item)) return false;
  }
  return true;
}

absl::Status Malformed(absl::string_view what) {
  return absl::InvalidArgumentError(absl::StrCat("a value on the channel: ", what));
}

class Decoder {
 public:
  explicit Decoder(absl::string_view bytes) : rest_(bytes) {}

  absl::StatusOr<TypedValue> All() {
    TypedValue value;
    SLUICE_RETURN_IF_ERROR(Take(0, value));
    if (!rest_.empty()) return Malformed("left-over bytes");
    return value;
  }

 private:
  absl::Status Take(int depth, TypedValue& out) {
    if (depth > kMaxValueDepth) return Malformed("nested too deeply");
    if (++nodes_ > kMaxValueNodes) return Malformed("too many members");
    if (rest_.empty()) return Malformed("it ends too early");
    char code = rest_[0];
    rest_.remove_prefix(1);
    switch (code) {
      case 'N':
        return absl::OkStatus();
      case '.':
        out.kind = TypedValue::kEllipsis;
        return absl::OkStatus();
      case 'T':
      case 'F':
        out = {TypedValue::kBool, code == 'T'};
        return absl::OkStatus();
      case 'i':
      case 'g':
      case 'y':
      case 'l':
        return TakeNumber(code, out);
      case 'u':
      case 's':
        return TakeString(code, out);
      case '{':
        return TakeDict(depth, out);
      case '[':
      case '(':
      case '<':
      case '>':
        return TakeSequence(code, depth, out);
    }
    return Malformed(absl::StrCat("a type that is no data, code ", static_cast<int>(code)));
  }

  absl::Status Need(size_t bytes) const {
    return rest_.size() < bytes ? Malformed("it ends too early") : absl::OkStatus();
  }

  absl::Status TakeInt32(int32_t& out) {
    SLUICE_RETURN_IF_ERROR(Need(4));
    out = static_cast<int32_t>(absl::little_endian::Load32(rest_.data()));
    rest_.remove_prefix(4);
    return absl::OkStatus();
  }

  absl::Status TakeDouble(TypedValue& out) {
    SLUICE_RETURN_IF_ERROR(Need(8));
    uint64_t bits = absl::little_endian::Load64(rest_.data());
    out.kind = TypedValue::kFloat;
    std::memcpy(&out.real, &bits, sizeof bits);
    rest_.remove_prefix(8);
    return absl::OkStatus();
  }

  absl::Status TakeNumber(char code, TypedValue& out) {
    if (code == 'g') return TakeDouble(out);
    if (code == 'y') {
      out.kind = TypedValue::kComplex;
      out.items.resize(2);
      SLUICE_RETURN_IF_ERROR(TakeDouble(out.items[0]));
      return TakeDouble(out.items[1]);
    }
    int32_t number = 0;
    SLUICE_RETURN_IF_ERROR(TakeInt32(number));
    if (code == 'l') return TakeLong(number, out);
    out = TypedValue::Integer(number);
    return absl::OkStatus();
  }

  absl::Status TakeLong(int32_t signed_count, TypedValue& out) {
    size_t count = static_cast<size_t>(std::abs(static_cast<int64_t>(signed_count)));
    SLUICE_RETURN_IF_ERROR(Need(2 * count));
    auto digit = [&](size_t i) { return absl::little_endian::Load16(rest_.data() + 2 * i); };
    for (size_t i = 0; i < count; ++i) {
      if (digit(i) >> kDigitBits) return Malformed("a digit of an integer is too large");
    }
    if (count > 0 && digit(count - 1) == 0) return Malformed("an integer with leading zeros");
    int64_t sign = signed_count < 0 ? -1 : 1;
    if (count <= 4) {
      int64_t magnitude = 0;
      for (size_t i = count; i-- > 0;) magnitude = magnitude << kDigitBits | digit(i);
      out = TypedValue::Integer(sign * magnitude);
    } else {
      out = {TypedValue::kBigInteger, sign, 0, std::string(rest_.substr(0, 2 * count))};
    }
    rest_.remove_prefix(2 * count);
    return absl::OkStatus();
  }

  absl::Status TakeString(char code, TypedValue& out) {
    int32_t size = 0;
    SLUICE_RETURN_IF_ERROR(TakeInt32(size));
    if (size < 0) return Malformed("a negative size");
    SLUICE_RETURN_IF_ERROR(Need(static_cast<size_t>(size)));
    absl::string_view content = rest_.substr(0, static_cast<size_t>(size));
    if (code == 'u' && !IsUnicode(content)) return Malformed("a string that is no UTF-8");
    out = code == 'u' ? TypedValue::Text(content) : TypedValue::Bytes(content);
    rest_.remove_prefix(content.size());
    return absl::OkStatus();
  }

  absl::Status TakeSequence(char code, int depth, TypedValue& out) {
    int32_t count = 0;
    SLUICE_RETURN_IF_ERROR(TakeInt32(count));
    if (count < 0) return Malformed("a negative size");
    SLUICE_RETURN_IF_ERROR(Need(static_cast<size_t>(count)));  // a member takes a byte at least
    out.kind = code == '['   ? TypedValue::kList
               : code == '(' ? TypedValue::kTuple
               : code == '<' ? TypedValue::kSet
                             : TypedValue::kFrozenSet;
    bool hashed = code == '<' || code == '>';
    for (int32_t i = 0; i < count; ++i) {
      SLUICE_RETURN_IF_ERROR(Take(depth + 1, out.items.emplace_back()));
      if (hashed && !IsHashable(out.items.back())) return Malformed("a member of a set that has no hash");
    }
    return absl::OkStatus();
  }

  absl::Status TakeDict(int depth, TypedValue& out) {
    out.kind = TypedValue::kDict;
    while (true) {
      SLUICE_RETURN_IF_ERROR(Need(1));
      if (rest_[0] == '0') break;
      SLUICE_RETURN_IF_ERROR(Take(depth + 1, out.items.emplace_back()));
      if (!IsHashable(out.items.back())) return Malformed("a key that has no hash");
      SLUICE_RETURN_IF_ERROR(Take(depth + 1, out.items.emplace_back()));
    }
    rest_.remove_prefix(1);
    return absl::OkStatus();
  }

  absl::string_view rest_;
  size_t nodes_ = 0;
};

}  // namespace

bool IsUnicode(absl::string_view s) {
  while (!s.empty()) {
    size_t n = CharacterBytes(s);
    if (n == 0) return false;
    s.remove_prefix(n);
  }
  return true;
}

std::string EncodeTypedValue(const TypedValue& value) {
  std::string out;
  Put(value, out);
  return out;
}

absl::StatusOr<TypedValue> DecodeTypedValue(absl::string_view bytes) { return Decoder(bytes).All(); }

}  // namespace sluice
