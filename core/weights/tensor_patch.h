// What turns the bytes of one version of a tensor into those of another: runs to be overwritten.
//
//   patch := run*        run := gap, length, `length` bytes
//
// gap and length are LEB128 numbers; gap counts the bytes left as they are since the run before, length is at
// least 1. Applying a patch twice gives the same. In RL few values change in bfloat16 from one version to the
// next, so a patch is a small part of the tensor (arXiv 2602.03839). Whoever applies one checks the result's
// hash: a patch for another base is only found there.
#pragma once

#include <cstdint>
#include <functional>
#include <string>

#include "absl/status/status.h"
#include "absl/strings/string_view.h"

namespace sluice {

// Makes a patch from two tensors of equal size, seen piece by piece.
class PatchWriter {
 public:
  // Gets the patch in chunks of about 1 MiB.
  explicit PatchWriter(std::function<absl::Status(absl::string_view)> on_chunk)
      : on_chunk_(std::move(on_chunk)) {}
  // The next bytes of both; they are equally many.
  absl::Status Add(absl::string_view base, absl::string_view target);
  // The last run and chunk.
  absl::Status Finish();

 private:
  absl::Status FlushRun();
  absl::Status FlushChunk();

  const std::function<absl::Status(absl::string_view)> on_chunk_;
  std::string chunk_;
  std::string run_;        // bytes of the run that is open
  uint64_t gap_ = 0;       // before it
  std::string unchanged_;  // equal bytes behind it, fewer than a new run would cost
  uint64_t after_ = 0;     // equal bytes seen since the last changed one
};

// Applies a patch that arrives in pieces. `bytes` is borrowed and changed in place.
class PatchReader {
 public:
  explicit PatchReader(std::string& bytes) : bytes_(bytes) {}
  // DATA_LOSS: a run ends behind the tensor's end, has no length, or a number is too long.
  absl::Status Add(absl::string_view piece);
  // DATA_LOSS: the patch ends within a run.
  absl::Status Finish() const;

 private:
  enum class Part { kGap, kLength, kBytes };
  absl::Status AddDigit(unsigned char digit);

  std::string& bytes_;
  Part part_ = Part::kGap;
  uint64_t number_ = 0, position_ = 0, left_ = 0;
  int shift_ = 0;
};

}  // namespace sluice
