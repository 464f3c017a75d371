// The "model" of tokenizer.json: a vocabulary and the merges of byte-pair encoding, byte-level or in
// SentencePiece's style with byte fallback. Immutable; thread-safe. BpeEncoder applies it.
#pragma once

#include <array>
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "absl/container/flat_hash_map.h"
#include "absl/container/flat_hash_set.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "nlohmann/json.hpp"

namespace sluice {

class Bpe {
 public:
  struct Merge {
    int32_t rank, id;  // of the result
  };
  static absl::StatusOr<std::unique_ptr<const Bpe>> Parse(const nlohmann::json& json);

  int32_t TokenId(absl::string_view token) const;  // -1: none
  // Of one character, given as its code point and its UTF-8.
  int32_t CharacterId(int32_t code_point, absl::string_view utf8) const;
  // Of the token that stands for a byte where no token stands for the character; -1: none, or no byte
  // fallback.
  int32_t ByteId(uint8_t byte) const { return byte_ids_[byte]; }
  const Merge* FindMerge(int32_t left, int32_t right) const;  // null: none
  // False when no chain of merges ever joins these two neighbours, characters or bytes: what is left and
  // right of them is encoded apart with the same result.
  bool MayJoin(int32_t left, int32_t right) const {
    return !separable_ || seams_.contains(static_cast<uint64_t>(left) << 32 | static_cast<uint32_t>(right));
  }
  bool ignore_merges() const { return ignore_merges_; }  // a piece that is a token is not merged
  int32_t unknown_id() const { return unknown_id_; }     // for a character without a token; -1: none
  bool fuse_unknown() const { return fuse_unknown_; }    // a run of those is one
  const absl::flat_hash_map<std::string, int32_t>& vocabulary() const { return vocabulary_; }

 private:
  Bpe() { byte_ids_.fill(-1); }
  absl::Status ReadVocabulary(const nlohmann::json* vocab);
  absl::Status ReadMerges(const nlohmann::json* merges);
  absl::Status AddMerge(const std::string& left, const std::string& right, int32_t rank);
  void IndexCharacters(bool byte_fallback);

  absl::flat_hash_map<std::string, int32_t> vocabulary_;
  absl::flat_hash_map<uint64_t, Merge> merges_;  // by (left << 32 | right)
  absl::flat_hash_set<uint64_t> seams_;          // characters that meet in some merge
  bool separable_ = true;
  std::vector<int32_t> character_ids_;  // of the first code points
  std::array<int32_t, 256> byte_ids_;
  bool ignore_merges_ = false;
  int32_t unknown_id_ = -1;
  bool fuse_unknown_ = false;
};

}  // namespace sluice
