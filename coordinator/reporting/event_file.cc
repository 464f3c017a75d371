#include "coordinator/reporting/event_file.h"

#include <fcntl.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>

#include "absl/strings/str_cat.h"
#include "coordinator/store/crc32c.h"
#include "core/base/file.h"

namespace sluice {
namespace {

// Little-endian bytes of a number.
template <typename T>
void PutRaw(std::string& out, T value) {
  char bytes[sizeof(T)];
  std::memcpy(bytes, &value, sizeof(T));
  out.append(bytes, sizeof(T));
}

void PutVarint(std::string& out, uint64_t value) {
  for (; value >= 0x80; value >>= 7) out.push_back(static_cast<char>(value | 0x80));
  out.push_back(static_cast<char>(value));
}

enum WireType { kVarint = 0, kFixed64 = 1, kBytes = 2, kFixed32 = 5 };

void PutTag(std::string& out, int field, WireType type) {
  PutVarint(out, static_cast<uint64_t>(field << 3 | type));
}

void PutBytes(std::string& out, int field, absl::string_view bytes) {
  PutTag(out, field, kBytes);
  PutVarint(out, bytes.size());
  absl::StrAppend(&out, bytes);
}

std::string Frame(const std::string& data) {
  std::string out;
  PutRaw(out, static_cast<uint64_t>(data.size()));
  PutRaw(out, MaskedCrc32c(out));
  out += data;
  PutRaw(out, MaskedCrc32c(data));
  return out;
}

std::string EventAt(absl::Time now) {
  std::string event;
  PutTag(event, 1, kFixed64);
  PutRaw(event, absl::ToDoubleSeconds(now - absl::UnixEpoch()));
  return event;
}

}  // namespace

std::string EventFileHeader(absl::Time now) {
  std::string event = EventAt(now);
  PutBytes(event, 3, "brain.Event:2");
  return Frame(event);
}

std::string EventFileScalars(int64_t step, const std::map<std::string, double>& scalars, absl::Time now) {
  std::string summary;
  for (const auto& [name, value] : scalars) {
    std::string one;
    PutBytes(one, 1, name);
    PutTag(one, 2, kFixed32);
    PutRaw(one, static_cast<float>(value));
    PutBytes(summary, 1, one);
  }
  std::string event = EventAt(now);
  PutTag(event, 2, kVarint);
  PutVarint(event, static_cast<uint64_t>(step));
  PutBytes(event, 5, summary);
  return Frame(event);
}

absl::Status AppendToFile(const std::string& path, absl::string_view bytes) {
  const int fd = open(path.c_str(), O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0644);
  if (fd < 0) return ErrnoStatus(errno, absl::StrCat("opening ", path));
  absl::Status status;
  while (!bytes.empty() && status.ok()) {
    const ssize_t n = write(fd, bytes.data(), bytes.size());
    if (n < 0 && errno == EINTR) continue;
    if (n < 0) {
      status = ErrnoStatus(errno, absl::StrCat("writing ", path));
    } else {
      bytes.remove_prefix(static_cast<size_t>(n));
    }
  }
  close(fd);
  return status;
}

}  // namespace sluice
