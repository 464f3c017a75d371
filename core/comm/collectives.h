// Collective operations among the ranks of one gang. Every rank makes the same calls in the same order with
// the same sizes. Sums are added in rank order, so that a result does not depend on timing, and equals the
// sequential sum.
//
// Each wait has a deadline. After an error other than INVALID_ARGUMENT the gang is broken: every later call
// of every rank fails (UNAVAILABLE) or times out (DEADLINE_EXCEEDED), and the gang has to be started again.
// One thread of a rank at a time.
#pragma once

#include "absl/status/status.h"
#include "absl/time/time.h"
#include "absl/types/span.h"

namespace sluice {

class Collectives {
 public:
  virtual ~Collectives() = default;
  virtual int rank() const = 0;
  virtual int size() const = 0;

  // The bytes of rank `root` become those of every rank.
  virtual absl::Status Broadcast(absl::Span<char> bytes, int root, absl::Time deadline) = 0;
  // all = the bytes of rank 0, then of rank 1, ...; all.size() == size() * mine.size().
  virtual absl::Status AllGather(absl::Span<const char> mine, absl::Span<char> all, absl::Time deadline) = 0;
  // mine[i] = sum over ranks of values[rank() * mine.size() + i]; values.size() == size() * mine.size().
  virtual absl::Status ReduceScatterSum(absl::Span<const float> values, absl::Span<float> mine,
                                        absl::Time deadline) = 0;
  // Replaces each value by its sum over ranks. For a few values.
  virtual absl::Status AllReduceSum(absl::Span<double> values, absl::Time deadline) = 0;
  virtual absl::Status Barrier(absl::Time deadline) = 0;
};

// A gang of one rank: nothing is sent.
class SingleCollectives final : public Collectives {
 public:
  int rank() const override { return 0; }
  int size() const override { return 1; }
  absl::Status Broadcast(absl::Span<char> bytes, int root, absl::Time deadline) override;
  absl::Status AllGather(absl::Span<const char> mine, absl::Span<char> all, absl::Time deadline) override;
  absl::Status ReduceScatterSum(absl::Span<const float> values, absl::Span<float> mine,
                                absl::Time deadline) override;
  absl::Status AllReduceSum(absl::Span<double> values, absl::Time deadline) override;
  absl::Status Barrier(absl::Time deadline) override;
};

// INVALID_ARGUMENT unless the sizes of a call fit together; what every implementation checks first.
absl::Status CheckBroadcast(int size, int root);
absl::Status CheckPieces(const char* operation, int size, size_t piece, size_t whole);

}  // namespace sluice
