// Byte-pair encoding of the pieces of one text. Remembers the words it has seen. Not thread-safe; one for
// each text.
#pragma once

#include <cstdint>
#include <functional>
#include <queue>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

#include "absl/container/flat_hash_map.h"
#include "absl/strings/string_view.h"
#include "absl/types/span.h"
#include "core/spec/tokenizer/bpe.h"

namespace sluice {

class BpeEncoder {
 public:
  explicit BpeEncoder(const Bpe& bpe) : bpe_(bpe) {}

  // Appends the ids of a piece of UTF-8: characters first, then merges by rising rank, the leftmost first.
  // O(n log n).
  void Encode(absl::string_view piece, std::vector<int32_t>& ids);
  // Characters met so far that no token stands for, nor bytes, nor an unknown token; they are left out, as in
  // the tokenizers library. Each once, in the order met; at most 16.
  const std::vector<std::string>& dropped() const { return dropped_; }

 private:
  struct Node {
    int32_t id, previous, next;
  };
  // Rank, place of the left symbol, id of the result.
  using Candidate = std::tuple<int32_t, int32_t, int32_t>;

  void EncodeWord(absl::string_view word, std::vector<int32_t>& ids);
  void EncodeLong(absl::string_view piece, std::vector<int32_t>& ids);
  // Fills symbols_ and begins_; false when a character has no symbols of its own.
  bool ReadSymbols(absl::string_view piece);
  bool FallBackToBytes(absl::string_view character, size_t begin);
  void Drop(absl::string_view character);
  void MergeAll(absl::Span<const int32_t> symbols, std::vector<int32_t>& ids);
  void Offer(int32_t left);

  const Bpe& bpe_;
  std::vector<int32_t> symbols_;
  std::vector<size_t> begins_;  // of symbols_, in the piece
  std::vector<Node> nodes_;
  std::priority_queue<Candidate, std::vector<Candidate>, std::greater<Candidate>> queue_;
  absl::flat_hash_map<std::string, std::pair<size_t, size_t>> words_;  // where in word_ids_
  std::vector<int32_t> word_ids_;
  std::vector<std::string> dropped_;
};

}  // namespace sluice
