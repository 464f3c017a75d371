#include "core/weights/tensor_patch.h"

#include <algorithm>
#include <cstring>

#include "absl/strings/str_cat.h"
#include "core/base/status.h"

namespace sluice {
namespace {

constexpr size_t kChunkBytes = size_t{1} << 20;
constexpr uint64_t kWorthAGap = 4;  // fewer equal bytes between two runs are written with them
constexpr size_t kMaxRunBytes = size_t{1} << 16;
constexpr int kMaxShift = 56;

void PutNumber(std::string& out, uint64_t value) {
  for (; value >= 0x80; value >>= 7) out.push_back(static_cast<char>(value | 0x80));
  out.push_back(static_cast<char>(value));
}

size_t EqualBytes(absl::string_view a, absl::string_view b) {
  size_t n = 0;
  while (n + 64 <= a.size() && std::memcmp(a.data() + n, b.data() + n, 64) == 0) n += 64;
  while (n < a.size() && a[n] == b[n]) ++n;
  return n;
}

}  // namespace

absl::Status PatchWriter::Add(absl::string_view base, absl::string_view target) {
  if (base.size() != target.size()) return absl::InternalError("a patch between tensors of unequal size");
  size_t at = 0;
  while (at < target.size()) {
    if (const size_t equal = EqualBytes(base.substr(at), target.substr(at)); equal > 0) {
      after_ += equal;
      if (after_ < kWorthAGap) unchanged_.append(target.data() + at, equal);
      at += equal;
      continue;
    }
    if (!run_.empty() && after_ < kWorthAGap && run_.size() < kMaxRunBytes) {
      run_ += unchanged_;
    } else {
      SLUICE_RETURN_IF_ERROR(FlushRun());
      gap_ = after_;
    }
    run_.push_back(target[at++]);
    unchanged_.clear();
    after_ = 0;
  }
  return absl::OkStatus();
}

absl::Status PatchWriter::FlushRun() {
  if (run_.empty()) return absl::OkStatus();
  PutNumber(chunk_, gap_);
  PutNumber(chunk_, run_.size());
  chunk_ += run_;
  run_.clear();
  return chunk_.size() + 2 * kMaxRunBytes >= kChunkBytes ? FlushChunk() : absl::OkStatus();
}

absl::Status PatchWriter::FlushChunk() {
  if (chunk_.empty()) return absl::OkStatus();
  const absl::Status status = on_chunk_(chunk_);
  chunk_.clear();
  return status;
}

absl::Status PatchWriter::Finish() {
  SLUICE_RETURN_IF_ERROR(FlushRun());
  return FlushChunk();
}

absl::Status PatchReader::AddDigit(unsigned char digit) {
  if (shift_ > kMaxShift) return absl::DataLossError("a patch with a number of more than nine digits");
  number_ |= uint64_t{digit & 0x7fu} << shift_;
  shift_ += 7;
  if ((digit & 0x80) != 0) return absl::OkStatus();
  if (number_ > bytes_.size() - position_) {
    return absl::DataLossError(absl::StrCat("a patch goes beyond the tensor's ", bytes_.size(), " bytes"));
  }
  if (part_ == Part::kGap) {
    position_ += number_;
    part_ = Part::kLength;
  } else {
    if (number_ == 0) return absl::DataLossError("a patch with an empty run");
    left_ = number_;
    part_ = Part::kBytes;
  }
  number_ = 0;
  shift_ = 0;
  return absl::OkStatus();
}

absl::Status PatchReader::Add(absl::string_view piece) {
  while (!piece.empty()) {
    if (part_ != Part::kBytes) {
      SLUICE_RETURN_IF_ERROR(AddDigit(static_cast<unsigned char>(piece[0])));
      piece.remove_prefix(1);
      continue;
    }
    const size_t n = static_cast<size_t>(std::min<uint64_t>(left_, piece.size()));
    std::memcpy(bytes_.data() + position_, piece.data(), n);
    piece.remove_prefix(n);
    position_ += n;
    left_ -= n;
    if (left_ == 0) part_ = Part::kGap;
  }
  return absl::OkStatus();
}

absl::Status PatchReader::Finish() const {
  if (part_ == Part::kGap && shift_ == 0) return absl::OkStatus();
  return absl::DataLossError("a patch that ends within a run");
}

}  // namespace sluice
