// The jail's code, carried inside the service so that there is no file to install or to lose.
#pragma once

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "core/base/file_descriptor.h"

namespace sluice {

absl::string_view EmbeddedJailLibrary();  // an ELF shared object
absl::string_view EmbeddedZygote();       // Python source
absl::string_view EmbeddedProbes();       // Python source of the self-test

// A sealed memory file with `content`, at its start.
absl::StatusOr<FileDescriptor> MemoryFile(const char* name, absl::string_view content);

}  // namespace sluice
