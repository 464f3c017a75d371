// The input is a completion. Its program is no longer than it, and finding it takes time in proportion.
#include <cstdint>
#include <cstdlib>

#include "absl/strings/string_view.h"
#include "reward/code/program.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  const absl::string_view completion(reinterpret_cast<const char*>(data), size);
  for (auto language : {sluice::CodeLanguage::kPython, sluice::CodeLanguage::kCpp}) {
    const sluice::Program program = sluice::FindProgram(completion, language);
    if (program.source.size() > completion.size() + 1) std::abort();
    if (program.missing.empty() && program.source.empty()) std::abort();
  }
  return 0;
}
