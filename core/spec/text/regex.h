// Regular expressions of released tokenizers. They are written for Oniguruma (Ruby syntax) and run here on
// PCRE2: what the two read differently is translated or refused. Matching has limits on steps and memory.
// Immutable; thread-safe.
#pragma once

#include <cstddef>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"

namespace sluice {

using ByteSpan = std::pair<size_t, size_t>;  // [first, second)

class Regex {
 public:
  static absl::StatusOr<std::unique_ptr<const Regex>> Compile(absl::string_view oniguruma_pattern);
  ~Regex();
  Regex(const Regex&) = delete;
  Regex& operator=(const Regex&) = delete;

  // All matches in `text`, which must be UTF-8, from left to right. RESOURCE_EXHAUSTED past the limits.
  absl::StatusOr<std::vector<ByteSpan>> FindAll(absl::string_view text) const;

 private:
  struct Compiled;
  explicit Regex(std::unique_ptr<Compiled> compiled);
  std::unique_ptr<Compiled> compiled_;
};

// The PCRE2 pattern with the same meaning. For Regex and its tests.
absl::StatusOr<std::string> TranslateOniguruma(absl::string_view pattern);

}  // namespace sluice
