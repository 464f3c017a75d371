// Tokens that are looked for in the text before anything else: special tokens and other added ones. Immutable
// once built; thread-safe.
#pragma once

#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "absl/container/flat_hash_map.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "nlohmann/json.hpp"

namespace sluice {

struct AddedToken {
  int32_t id = -1;
  std::string content;
  bool special = false, normalized = true;  // normalized: looked for after the normalizer
  bool single_word = false, lstrip = false, rstrip = false;
};

absl::StatusOr<std::vector<AddedToken>> ParseAddedTokens(const nlohmann::json* list);

// A piece of text, or a token found in it (id >= 0).
struct TextPiece {
  int32_t id = -1;
  absl::string_view text;
};

class AddedTokenMatcher {
 public:
  // `written` is what is looked for (the content, normalized or not).
  void Add(const AddedToken& token, absl::string_view written);
  // Leftmost first, then longest. Spaces taken by lstrip and rstrip belong to the token.
  std::vector<TextPiece> Split(absl::string_view text) const;

 private:
  // The longest token that begins at `at`: its index and length, or -1.
  std::pair<int32_t, size_t> Longest(absl::string_view text, size_t at) const;
  std::vector<AddedToken> tokens_;
  absl::flat_hash_map<uint64_t, int32_t> edges_;  // (node << 8 | byte) -> node
  std::vector<int32_t> token_at_ = {-1};          // by node: index into tokens_, or -1
};

}  // namespace sluice
