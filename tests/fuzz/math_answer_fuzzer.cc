// The input is an answer, as text.
#include <cstdint>
#include <cstdlib>

#include "absl/strings/string_view.h"
#include "reward/math/parse/parser.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  const absl::string_view answer(reinterpret_cast<const char*>(data), size);
  const auto readings = sluice::math::ReadAnswer(answer);
  if (readings.ok() && readings->empty()) std::abort();
  return 0;
}
