// TensorBoard event files: scalars in the TFRecord framing
//   u64 length | u32 masked CRC-32C of the length | data | u32 masked CRC-32C of the data
// where data is a tensorflow.Event (wall_time = 1, step = 2, file_version = 3, summary = 5 of value = 1 of
// tag = 1, simple_value = 2), encoded by hand. Not thread-safe.
#pragma once

#include <cstdint>
#include <map>
#include <string>

#include "absl/status/status.h"
#include "absl/strings/string_view.h"
#include "absl/time/time.h"

namespace sluice {

std::string EventFileHeader(absl::Time now);
// One event with all scalars of a step.
std::string EventFileScalars(int64_t step, const std::map<std::string, double>& scalars, absl::Time now);

// Appends without syncing: these files can be made again from the store.
absl::Status AppendToFile(const std::string& path, absl::string_view bytes);

}  // namespace sluice
