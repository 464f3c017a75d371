#include "reward/sandbox/embedded_jail.h"

#include <fcntl.h>
#include <sys/mman.h>
#include <unistd.h>

#include <cerrno>

#include "absl/status/status.h"

// The build defines the files' paths.
#define SLUICE_EMBED(symbol, path)                                                                   \
  asm(".section .rodata\n.balign 16\n.global " #symbol "_begin\n" #symbol "_begin:\n.incbin \"" path \
      "\"\n.global " #symbol "_end\n" #symbol "_end:\n.byte 0\n.previous\n");                        \
  extern "C" const char symbol##_begin[];                                                            \
  extern "C" const char symbol##_end[];

SLUICE_EMBED(sluice_jail_library, SLUICE_JAIL_LIBRARY)
SLUICE_EMBED(sluice_zygote, SLUICE_ZYGOTE)
SLUICE_EMBED(sluice_probes, SLUICE_PROBES)

namespace sluice {

absl::string_view EmbeddedJailLibrary() {
  return {sluice_jail_library_begin,
          static_cast<size_t>(sluice_jail_library_end - sluice_jail_library_begin)};
}
absl::string_view EmbeddedZygote() {
  return {sluice_zygote_begin, static_cast<size_t>(sluice_zygote_end - sluice_zygote_begin)};
}
absl::string_view EmbeddedProbes() {
  return {sluice_probes_begin, static_cast<size_t>(sluice_probes_end - sluice_probes_begin)};
}

absl::StatusOr<FileDescriptor> MemoryFile(const char* name, absl::string_view content) {
  FileDescriptor file(memfd_create(name, MFD_CLOEXEC | MFD_ALLOW_SEALING));
  if (!file.valid()) return absl::ErrnoToStatus(errno, "memfd_create");
  for (size_t done = 0; done < content.size();) {
    const ssize_t wrote =
        pwrite(file.get(), content.data() + done, content.size() - done, static_cast<off_t>(done));
    if (wrote < 0 && errno == EINTR) continue;
    if (wrote <= 0) return absl::ErrnoToStatus(errno, "write to a memory file");
    done += static_cast<size_t>(wrote);
  }
  if (fcntl(file.get(), F_ADD_SEALS, F_SEAL_WRITE | F_SEAL_SHRINK | F_SEAL_GROW | F_SEAL_SEAL) != 0) {
    return absl::ErrnoToStatus(errno, "seal a memory file");
  }
  return file;
}

}  // namespace sluice
