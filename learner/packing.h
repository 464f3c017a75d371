// Packing: sequences of different lengths laid end to end as rows, without padding. A group's prompt stands
// once, then the rows of its completions; their positions go on from the prompt. A completion attends to the
// prompt and to itself through blocks of 64 positions, cut at the same positions as the engine's cache. Pure;
// no LibTorch.
#pragma once

#include <cstdint>
#include <utility>
#include <vector>

#include "absl/types/span.h"

namespace sluice {

// The experts of the rows that a sequence was fed as: its prompt and all of its completion but the last
// token. Borrowed; null: not recorded.
struct RecordedExperts {
  const uint16_t* ids = nullptr;  // [rows, per_row]
  int64_t per_row = 0;            // of all layers with experts
  const uint16_t* OfRow(int64_t row) const { return ids == nullptr ? nullptr : ids + row * per_row; }
};

// What is packed: borrowed tokens. `id` is the caller's number of the completion.
struct PackCompletion {
  absl::Span<const int32_t> tokens;
  int64_t id = 0;
  RecordedExperts experts;
};
// Completions of a group agree on the experts of their prompt, where they have recorded any.
struct PackGroup {
  absl::Span<const int32_t> prompt;  // at least one token
  std::vector<PackCompletion> completions;
};

// A token whose log-probability is wanted: predicted by row head_rows[head].
struct PackTarget {
  int32_t head = 0;
  int32_t token = 0;
  int64_t completion_id = 0;
  int32_t position = 0;  // in the completion
};

// Where the rows' cached vectors lie in blocks. A slot is block * 64 + (position mod 64). The block in which
// a prompt ends is copied for each completion, which goes on in it; full blocks of the prompt are shared.
struct BlockLayout {
  int64_t blocks = 0;
  std::vector<int64_t> slot_of_row;
  std::vector<std::pair<int64_t, int64_t>> copies;  // (row, another slot that holds it)
  std::vector<std::vector<int64_t>> tables;         // block numbers of a sequence, in order of position
  std::vector<int32_t> table_of_row;
};

struct PackedBatch {
  std::vector<int32_t> tokens, positions;  // [rows]
  // [rows], each [layers with experts, experts per token] or null; empty: no row has any. Borrowed.
  std::vector<const uint16_t*> experts;
  std::vector<int64_t> head_rows;   // rows that predict a wanted token, rising
  std::vector<PackTarget> targets;  // by rising head; several completions may share the prompt's last row
  BlockLayout layout;
  int64_t rows() const { return static_cast<int64_t>(tokens.size()); }
};

// The last token of a completion predicts nothing and gets no row. Completions without tokens are left out.
PackedBatch Pack(absl::Span<const PackGroup> groups);

// Cuts groups into micro-batches of at most `max_tokens` rows, in order. A group that is too large is split
// between completions, its prompt repeated; a single completion is never cut, however long. `max_tokens` is
// at least 1.
std::vector<std::vector<PackGroup>> PlanMicroBatches(absl::Span<const PackGroup> groups, int64_t max_tokens);

// Shares items of the given costs out to ranks: the costliest first, each to the rank with the least so far
// (ties: the lower number). Deterministic. Returns, by rank, the items in rising order.
std::vector<std::vector<size_t>> Distribute(absl::Span<const int64_t> costs, int ranks);

}  // namespace sluice
