#include "services/cli/rows/line_reader.h"

#include <fcntl.h>
#include <poll.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <utility>

#include "absl/strings/ascii.h"
#include "absl/strings/strip.h"
#include "core/base/file.h"
#include "core/base/status.h"
#include "core/spec/text/json_rows.h"

namespace sluice::cli {
namespace {

constexpr size_t kReadBytes = 256 << 10;
constexpr absl::string_view kByteOrderMark = "\xEF\xBB\xBF";

}  // namespace

absl::StatusOr<std::unique_ptr<LineReader>> LineReader::Open(const std::string& path, int stop_fd) {
  if (path == "-") return std::unique_ptr<LineReader>(new LineReader("standard input", 0, 0, stop_fd));
  const int fd = open(path.c_str(), O_RDONLY | O_CLOEXEC);
  if (fd < 0) return ErrnoStatus(errno, path);
  struct stat info {};
  if (fstat(fd, &info) != 0 || S_ISDIR(info.st_mode)) {
    close(fd);
    return absl::InvalidArgumentError(path + " is a folder");
  }
  const int64_t size = S_ISREG(info.st_mode) ? info.st_size : 0;
  return std::unique_ptr<LineReader>(new LineReader(path, fd, size, stop_fd));
}

LineReader::~LineReader() {
  if (fd_ > 0) close(fd_);
}

absl::StatusOr<bool> LineReader::Fill() {
  if (begin_ > 0) {
    buffer_.erase(0, begin_);
    searched_ -= begin_;
    begin_ = 0;
  }
  pollfd fds[2] = {{fd_, POLLIN, 0}, {stop_fd_, POLLIN, 0}};
  while (poll(fds, 2, -1) < 0 && errno == EINTR) {
  }
  if ((fds[1].revents & POLLIN) != 0) {
    buffer_.clear();  // a line that is not whole is not given
    searched_ = 0;
    return false;
  }
  const size_t had = buffer_.size();
  buffer_.resize(had + kReadBytes);
  const ssize_t got = read(fd_, buffer_.data() + had, kReadBytes);
  buffer_.resize(had + static_cast<size_t>(std::max<ssize_t>(got, 0)));
  if (got < 0 && errno != EINTR) return ErrnoStatus(errno, name_);
  if (buffer_.size() > kMaxRowBytes + 1 && searched_ == had) {
    // Of a line that is too long only so much is kept that it is known to be.
    const size_t keep = kMaxRowBytes + 1;
    if (had > keep) {
      dropped_ += static_cast<int64_t>(had - keep);
      buffer_.erase(keep, had - keep);
      searched_ = keep;
    }
  }
  return got != 0;
}

Line LineReader::Take(size_t length, bool ended) {
  Line line;
  line.number = ++number_;
  line.begin = offset_;
  line.ended = ended;
  absl::string_view text(buffer_.data() + begin_, length);
  if (number_ == 1) absl::ConsumePrefix(&text, kByteOrderMark);
  line.text = std::string(absl::StripAsciiWhitespace(text));
  begin_ += length + (ended ? 1 : 0);
  searched_ = begin_;
  offset_ += static_cast<int64_t>(length) + (ended ? 1 : 0) + std::exchange(dropped_, 0);
  return line;
}

bool LineReader::Ready() const {
  if (at_end_ || buffer_.find('\n', begin_) != std::string::npos) return true;
  pollfd fds[2] = {{fd_, POLLIN, 0}, {stop_fd_, POLLIN, 0}};
  return poll(fds, 2, 0) > 0;
}

absl::StatusOr<std::optional<Line>> LineReader::Next() {
  while (true) {
    const size_t end = buffer_.find('\n', searched_);
    if (end == std::string::npos && !at_end_) {
      searched_ = buffer_.size();
      SLUICE_ASSIGN_OR_RETURN(const bool more, Fill());
      at_end_ = !more;
      continue;
    }
    const bool ended = end != std::string::npos;
    if (!ended && begin_ >= buffer_.size()) return std::nullopt;
    Line line = Take((ended ? end : buffer_.size()) - begin_, ended);
    if (!line.text.empty()) return line;
  }
}

}  // namespace sluice::cli
