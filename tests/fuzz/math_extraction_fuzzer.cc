// The input is a completion: its answer lies within it.
#include <cstdint>
#include <cstdlib>

#include "absl/strings/string_view.h"
#include "reward/math/extract/extraction.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  const absl::string_view completion(reinterpret_cast<const char*>(data), size);
  for (const auto& found : {sluice::math::ExtractAnswer(completion), sluice::math::ExtractGold(completion)}) {
    if (found.offset > size || found.text.size() > size) std::abort();
  }
  return 0;
}
