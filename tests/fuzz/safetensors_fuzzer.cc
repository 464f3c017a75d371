// The input is a safetensors file.
#include <cstdint>
#include <cstdlib>

#include "core/spec/checkpoint/checkpoint_dir.h"
#include "tests/fuzz/memory_file.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  const sluice::MemoryFile file(data, size);
  const absl::StatusOr<sluice::TensorMap> tensors = sluice::ReadSafetensors(file.path());
  if (!tensors.ok()) return 0;
  for (const auto& [name, tensor] : *tensors) {
    const int64_t bytes = tensor.elements() * sluice::BytesOf(tensor.dtype);
    if (bytes != static_cast<int64_t>(tensor.bytes->size())) std::abort();
    (void)sluice::FirstNonFinite(tensor);
  }
  return 0;
}
