#include "core/comm/collectives.h"

#include <algorithm>

#include "absl/strings/str_cat.h"
#include "core/base/status.h"

namespace sluice {

absl::Status CheckBroadcast(int size, int root) {
  if (root < 0 || root >= size) {
    return absl::InvalidArgumentError(
        absl::StrCat("Broadcast: root ", root, " is not a rank of 0..", size - 1));
  }
  return absl::OkStatus();
}

absl::Status CheckPieces(const char* operation, int size, size_t piece, size_t whole) {
  if (piece * static_cast<size_t>(size) == whole) return absl::OkStatus();
  return absl::InvalidArgumentError(
      absl::StrCat(operation, ": ", size, " ranks of ", piece, " elements do not make ", whole));
}

absl::Status SingleCollectives::Broadcast(absl::Span<char> bytes, int root, absl::Time deadline) {
  return CheckBroadcast(1, root);
}

absl::Status SingleCollectives::AllGather(absl::Span<const char> mine, absl::Span<char> all,
                                          absl::Time deadline) {
  SLUICE_RETURN_IF_ERROR(CheckPieces("AllGather", 1, mine.size(), all.size()));
  std::copy(mine.begin(), mine.end(), all.begin());
  return absl::OkStatus();
}

absl::Status SingleCollectives::ReduceScatterSum(absl::Span<const float> values, absl::Span<float> mine,
                                                 absl::Time deadline) {
  SLUICE_RETURN_IF_ERROR(CheckPieces("ReduceScatterSum", 1, mine.size(), values.size()));
  std::copy(values.begin(), values.end(), mine.begin());
  return absl::OkStatus();
}

absl::Status SingleCollectives::AllReduceSum(absl::Span<double> values, absl::Time deadline) {
  return absl::OkStatus();
}

absl::Status SingleCollectives::Barrier(absl::Time deadline) { return absl::OkStatus(); }

}  // namespace sluice
