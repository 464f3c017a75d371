// The sandbox's folder on the host: artefacts that boxes see read-only, and, where the jail cannot mount, the
// boxes' files.
#pragma once

#include <string>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "core/base/file_descriptor.h"

namespace sluice {

// Thread-safe.
class StateFolder {
 public:
  // `path` is kept when this ends. Empty: a folder below /tmp that goes with this object, or, after a crash,
  // with the next one made.
  static absl::StatusOr<StateFolder> Open(const std::string& path);
  StateFolder(StateFolder&&) = default;
  ~StateFolder();

  std::string artefacts() const { return path_ + "/artefacts"; }
  std::string BoxFolder(int slot) const;
  // See Sandbox::Publish.
  absl::Status Publish(absl::string_view name, absl::string_view content) const;

 private:
  StateFolder() = default;

  std::string path_;
  FileDescriptor lock_;  // held on a temporary folder while it is in use
};

}  // namespace sluice
