// CRC-32C (Castagnoli, RFC 3720 appendix B.4), and the masked form that TFRecord files use. Pure.
#pragma once

#include <cstdint>

#include "absl/strings/string_view.h"

namespace sluice {

uint32_t Crc32c(absl::string_view bytes);
// ((crc >> 15) | (crc << 17)) + 0xa282ead8, as in TensorFlow's lib/hash/crc32c.h.
uint32_t MaskedCrc32c(absl::string_view bytes);

}  // namespace sluice
