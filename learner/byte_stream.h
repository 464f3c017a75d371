// The encoding of commands between ranks of one gang: fixed-width little-endian values one after the other,
// lengths before vectors and strings. Both ends are the same program, so there is no versioning; reading is
// bounds-checked.
#pragma once

#include <cstdint>
#include <cstring>
#include <string>
#include <type_traits>
#include <vector>

#include "absl/status/status.h"
#include "absl/strings/string_view.h"

namespace sluice {

class ByteWriter {
 public:
  template <typename T>
  void Put(T value) {
    static_assert(std::is_arithmetic_v<T> || std::is_enum_v<T>);
    bytes_.append(reinterpret_cast<const char*>(&value), sizeof(T));
  }
  template <typename T>
  void PutVector(const std::vector<T>& values) {
    static_assert(std::is_arithmetic_v<T>);
    Put<uint64_t>(values.size());
    bytes_.append(reinterpret_cast<const char*>(values.data()), values.size() * sizeof(T));
  }
  void PutString(absl::string_view text) {
    Put<uint64_t>(text.size());
    bytes_.append(text.data(), text.size());
  }
  std::string Finish() { return std::move(bytes_); }

 private:
  std::string bytes_;
};

// After the first read beyond the end every value is zero or empty, and status() is an error.
class ByteReader {
 public:
  explicit ByteReader(absl::string_view bytes) : rest_(bytes) {}

  template <typename T>
  T Get() {
    static_assert(std::is_arithmetic_v<T> || std::is_enum_v<T>);
    T value{};
    if (Take(1, sizeof(T))) {
      std::memcpy(&value, rest_.data(), sizeof(T));
      rest_.remove_prefix(sizeof(T));
    }
    return value;
  }
  template <typename T>
  std::vector<T> GetVector() {
    const uint64_t count = Get<uint64_t>();
    if (!Take(count, sizeof(T))) return {};
    std::vector<T> values(count);
    if (count > 0) std::memcpy(values.data(), rest_.data(), count * sizeof(T));
    rest_.remove_prefix(count * sizeof(T));
    return values;
  }
  std::string GetString() {
    const uint64_t count = Get<uint64_t>();
    if (!Take(count, 1)) return {};
    std::string text(rest_.substr(0, count));
    rest_.remove_prefix(count);
    return text;
  }
  // A number of elements that follow, of at least `least_bytes` each: 0 when so many cannot follow.
  uint64_t GetCount(size_t least_bytes) {
    const uint64_t count = Get<uint64_t>();
    return Take(count, least_bytes) ? count : 0;
  }
  // OK when everything was read and nothing is left.
  absl::Status Finish() const {
    if (short_) return absl::InvalidArgumentError("a command between ranks is cut short");
    if (!rest_.empty()) return absl::InvalidArgumentError("a command between ranks is too long");
    return absl::OkStatus();
  }

 private:
  // Whether count elements of `size` bytes are left.
  bool Take(uint64_t count, size_t size) {
    if (!short_ && count <= rest_.size() / size) return true;
    short_ = true;
    return false;
  }
  absl::string_view rest_;
  bool short_ = false;
};

}  // namespace sluice
