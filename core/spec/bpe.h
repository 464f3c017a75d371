// Byte-pair encoding of one piece of text: the "model" of tokenizer.json. Immutable; thread-safe.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "absl/container/flat_hash_map.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "nlohmann/json.hpp"

namespace sluice {

class Bpe {
 public:
  static absl::StatusOr<std::unique_ptr<const Bpe>> Parse(const nlohmann::json& json);

  // Appends the ids of a piece: characters first, then merges by rising rank, the leftmost first. O(n log n).
  void Encode(const std::string& piece, std::vector<int32_t>& ids) const;
  int32_t TokenId(absl::string_view token) const;  // -1: none
  const absl::flat_hash_map<std::string, int32_t>& vocabulary() const { return vocabulary_; }

 private:
  struct Merge {
    int32_t rank, id;
  };
  absl::Status ReadVocabulary(const nlohmann::json* vocab);
  absl::Status ReadMerges(const nlohmann::json* merges);
  absl::Status AddMerge(const std::string& left, const std::string& right, int32_t rank);
  const Merge* FindMerge(int32_t left, int32_t right) const;
  std::vector<int32_t> Characters(const std::string& piece) const;
  void MergeAll(std::vector<int32_t>& symbols) const;

  absl::flat_hash_map<std::string, int32_t> vocabulary_;
  absl::flat_hash_map<uint64_t, Merge> merges_;  // by (left << 32 | right)
  bool ignore_merges_ = false;                   // a piece that is a token is not merged
  int32_t unknown_id_ = -1;
  bool fuse_unknown_ = false;
};

}  // namespace sluice
