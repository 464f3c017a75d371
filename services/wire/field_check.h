// The rules a message from outside must keep: limits of all fields in one place, and a collector of the first
// broken rule.
#pragma once

#include <cstddef>
#include <cstdint>

#include "absl/status/status.h"
#include "absl/strings/string_view.h"

namespace sluice {

constexpr size_t kMaxNameBytes = 256;         // jobs, workers, components, metrics, kernel paths, hashes
constexpr size_t kMaxPathBytes = 4096;        // paths and addresses
constexpr size_t kMaxTextBytes = 16 << 20;    // prompts, completions
constexpr size_t kMaxDetailBytes = 64 << 10;  // lines for people
constexpr size_t kMaxTokens = 1 << 20;        // of a prompt or a completion
constexpr size_t kMaxGroupMembers = 4096;
constexpr size_t kMaxComponents = 64;
constexpr size_t kMaxVerdictParts = 10000;  // tests of a component, or steps
constexpr size_t kMaxStamps = 16;
constexpr size_t kMaxFields = 256;
constexpr size_t kMaxExpertBytes = 32 << 20;  // of one trajectory
constexpr size_t kMaxMetrics = 1024;

// Keeps the first broken rule. Not thread-safe.
class FieldCheck {
 public:
  void Require(bool ok, absl::string_view field, absl::string_view what);
  // At most `limit`, in `unit`.
  void AtMost(size_t size, size_t limit, absl::string_view field, absl::string_view unit);
  void NotEmpty(absl::string_view value, absl::string_view field);
  // 1 to kMaxNameBytes bytes.
  void Name(absl::string_view value, absl::string_view field);
  void Finite(double value, absl::string_view field);
  void NotNegative(int64_t value, absl::string_view field);
  // Token ids: at most `limit` of them, none negative. Tokens is a range of int32_t.
  template <typename Tokens>
  void TokenIds(const Tokens& tokens, size_t limit, absl::string_view field) {
    AtMost(static_cast<size_t>(tokens.size()), limit, field, "tokens");
    for (int32_t token : tokens) {
      if (token < 0) return Require(false, field, "a token is negative");
    }
  }
  const absl::Status& status() const { return status_; }

 private:
  absl::Status status_;
};

// Puts the name of an enclosing field before the one that the message starts with: "tokens: ..." ->
// "prefix.tokens: ...".
absl::Status Within(absl::string_view prefix, const absl::Status& status);

}  // namespace sluice
