// The input is three files of a model directory, separated by a line "====": config.json,
// model.safetensors.index.json (empty: none) and a safetensors file.
#include <stdlib.h>

#include <cstdint>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <string>

#include "absl/strings/string_view.h"
#include "core/spec/checkpoint/checkpoint_dir.h"

namespace {

constexpr absl::string_view kSeparator = "\n====\n";

absl::string_view Next(absl::string_view& input) {
  const size_t end = input.find(kSeparator);
  const absl::string_view part = input.substr(0, end);
  input.remove_prefix(end == absl::string_view::npos ? input.size() : end + kSeparator.size());
  return part;
}

std::string MakeFolder() {
  std::string name =
      (std::filesystem::exists("/dev/shm") ? "/dev/shm" : "/tmp") + std::string("/fuzz.XXXXXX");
  if (mkdtemp(name.data()) == nullptr) std::abort();
  return name;
}

void Put(const std::string& path, absl::string_view bytes) {
  std::ofstream(path, std::ios::binary | std::ios::trunc) << bytes;
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  static const std::string folder = MakeFolder();
  absl::string_view input(reinterpret_cast<const char*>(data), size);
  Put(folder + "/config.json", Next(input));
  const absl::string_view index = Next(input);
  std::filesystem::remove(folder + "/model.safetensors");
  std::filesystem::remove(folder + "/model.safetensors.index.json");
  if (!index.empty()) Put(folder + "/model.safetensors.index.json", index);
  Put(folder + (index.empty() ? "/model.safetensors" : "/model-1.safetensors"), input);
  const absl::StatusOr<sluice::ModelDirectory> model = sluice::ReadModelDirectory(folder);
  if (!model.ok()) return 0;
  for (const sluice::TensorShape& shape : sluice::TensorTable(model->config)) {
    const sluice::HostTensor& tensor = model->tensors.at(shape.name);
    if (tensor.shape != shape.shape || sluice::FirstNonFinite(tensor) >= 0) std::abort();
    (void)sluice::ToFloats(tensor);
  }
  return 0;
}
