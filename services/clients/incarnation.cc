#include "services/clients/incarnation.h"

#include <random>

#include "absl/strings/str_format.h"

namespace sluice {

std::string NewIncarnation() {
  std::random_device device;
  std::string out;
  for (int i = 0; i < 4; ++i) absl::StrAppendFormat(&out, "%08x", device());
  return out;
}

}  // namespace sluice
