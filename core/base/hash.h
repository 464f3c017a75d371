// SHA-256 in lower-case hexadecimal. Names the content of tensors, manifests and files.
#pragma once

#include <cstddef>
#include <string>

#include "absl/strings/string_view.h"

namespace sluice {

std::string Sha256Hex(absl::string_view bytes);

// The same over pieces.
class Sha256 {
 public:
  Sha256();
  ~Sha256();
  Sha256(const Sha256&) = delete;
  Sha256& operator=(const Sha256&) = delete;
  void Update(const void* data, size_t size);
  std::string FinishHex();  // once

 private:
  void* context_;  // EVP_MD_CTX, owned
};

}  // namespace sluice
