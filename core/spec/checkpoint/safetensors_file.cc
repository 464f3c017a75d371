#include "core/spec/checkpoint/safetensors_file.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <tuple>

#include "absl/strings/str_cat.h"
#include "core/base/file.h"
#include "core/base/status.h"
#include "core/spec/checkpoint/checkpoint_dir.h"

namespace sluice {
namespace {

absl::Status WriteAll(int fd, absl::string_view bytes, const std::string& path) {
  while (!bytes.empty()) {
    const ssize_t n = write(fd, bytes.data(), std::min<size_t>(bytes.size(), size_t{1} << 30));
    if (n < 0 && errno == EINTR) continue;
    if (n < 0) return ErrnoStatus(errno, absl::StrCat("writing ", path));
    bytes.remove_prefix(static_cast<size_t>(n));
  }
  return absl::OkStatus();
}

}  // namespace

absl::StatusOr<std::unique_ptr<SafetensorsFile>> SafetensorsFile::Open(const std::string& path) {
  const int fd = open(path.c_str(), O_RDONLY | O_CLOEXEC);
  if (fd < 0) return ErrnoStatus(errno, absl::StrCat("opening ", path));
  std::unique_ptr<SafetensorsFile> file(new SafetensorsFile(path, fd));
  SLUICE_RETURN_IF_ERROR(file->ReadHeader());
  return file;
}

SafetensorsFile::~SafetensorsFile() { close(fd_); }

absl::Status SafetensorsFile::ReadHeader() {
  struct stat info;
  if (fstat(fd_, &info) != 0) return ErrnoStatus(errno, absl::StrCat("reading ", path_));
  if (!S_ISREG(info.st_mode)) return absl::InvalidArgumentError(absl::StrCat(path_, ": not a regular file"));
  const int64_t size = info.st_size;
  if (size < 8)
    return absl::InvalidArgumentError(absl::StrCat(path_, ": ", size, " bytes are no safetensors file"));
  std::string length_bytes;
  SLUICE_RETURN_IF_ERROR(ReadAt(0, 8, length_bytes));
  uint64_t length = 0;
  for (int i = 7; i >= 0; --i)
    length = length << 8 | static_cast<uint8_t>(length_bytes[static_cast<size_t>(i)]);
  if (length > static_cast<uint64_t>(kMaxSafetensorsHeader)) {
    return absl::InvalidArgumentError(
        absl::StrCat(path_, ": header length ", length, " is over the limit of ", kMaxSafetensorsHeader));
  }
  data_offset_ = 8 + static_cast<int64_t>(length);
  if (data_offset_ > size) {
    return absl::InvalidArgumentError(absl::StrCat(
        path_, ": header length ", length, " passes the end of the file (", size, " bytes): truncated?"));
  }
  std::string json;
  SLUICE_RETURN_IF_ERROR(ReadAt(8, static_cast<int64_t>(length), json));
  SLUICE_ASSIGN_OR_RETURN(entries_, ParseSafetensorsHeader(json, size - data_offset_, path_));
  return absl::OkStatus();
}

absl::Status SafetensorsFile::ReadAt(int64_t offset, int64_t size, std::string& out) const {
  out.resize(static_cast<size_t>(size));
  int64_t done = 0;
  while (done < size) {
    const ssize_t n = pread(fd_, out.data() + done, static_cast<size_t>(size - done), offset + done);
    if (n < 0 && errno == EINTR) continue;
    if (n < 0) return ErrnoStatus(errno, absl::StrCat("reading ", path_));
    if (n == 0) return absl::DataLossError(absl::StrCat(path_, ": became shorter while it was read"));
    done += n;
  }
  return absl::OkStatus();
}

absl::StatusOr<HostTensor> SafetensorsFile::Read(const SafetensorsEntry& entry) const {
  auto bytes = std::make_shared<std::string>();
  SLUICE_RETURN_IF_ERROR(Annotate(ReadAt(data_offset_ + entry.begin, entry.end - entry.begin, *bytes),
                                  absl::StrCat("tensor ", entry.name)));
  return HostTensor{entry.dtype, entry.shape, std::move(bytes)};
}

std::vector<SafetensorsEntry> LayOutSafetensors(const TensorMap& tensors) {
  std::vector<SafetensorsEntry> entries;
  for (const auto& [name, tensor] : tensors) entries.push_back({name, tensor.dtype, tensor.shape});
  std::stable_sort(entries.begin(), entries.end(), [](const SafetensorsEntry& a, const SafetensorsEntry& b) {
    return BytesOf(a.dtype) > BytesOf(b.dtype);
  });
  int64_t at = 0;
  for (SafetensorsEntry& entry : entries) {
    entry.begin = at;
    at += static_cast<int64_t>(tensors.at(entry.name).bytes->size());
    entry.end = at;
  }
  return entries;
}

absl::Status WriteSafetensorsFile(const std::string& path, const TensorMap& tensors) {
  const std::vector<SafetensorsEntry> entries = LayOutSafetensors(tensors);
  const int fd = open(path.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0644);
  if (fd < 0) return ErrnoStatus(errno, absl::StrCat("creating ", path));
  absl::Status status = WriteAll(fd, SerializeSafetensorsHeader(entries), path);
  for (const SafetensorsEntry& entry : entries) {
    if (status.ok()) status = WriteAll(fd, *tensors.at(entry.name).bytes, path);
  }
  if (status.ok() && fsync(fd) != 0) status = ErrnoStatus(errno, absl::StrCat("syncing ", path));
  if (close(fd) != 0 && status.ok()) status = ErrnoStatus(errno, absl::StrCat("closing ", path));
  return status;
}

absl::StatusOr<TensorMap> ReadSafetensors(const std::string& path) {
  SLUICE_ASSIGN_OR_RETURN(const std::unique_ptr<SafetensorsFile> file, SafetensorsFile::Open(path));
  TensorMap tensors;
  for (const SafetensorsEntry& entry : file->entries()) {
    SLUICE_ASSIGN_OR_RETURN(tensors[entry.name], file->Read(entry));
  }
  return tensors;
}

std::string SerializeSafetensors(const TensorMap& tensors) {
  const std::vector<SafetensorsEntry> entries = LayOutSafetensors(tensors);
  std::string out = SerializeSafetensorsHeader(entries);
  for (const SafetensorsEntry& entry : entries) out += *tensors.at(entry.name).bytes;
  return out;
}

}  // namespace sluice
