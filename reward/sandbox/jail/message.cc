#include "reward/sandbox/jail/message.h"

#include <sys/socket.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>

namespace sluice::jail {

Descriptors::~Descriptors() {
  for (int i = 0; i < count; ++i) {
    if (fds[i] >= 0) close(fds[i]);
  }
}

int Descriptors::Take(int i) {
  if (i >= count) return -1;
  const int fd = fds[i];
  fds[i] = -1;
  return fd;
}

bool Send(int socket, const void* record, size_t bytes, const int* fds, int fd_count) {
  iovec part{const_cast<void*>(record), bytes};
  alignas(cmsghdr) char control[CMSG_SPACE(sizeof(int) * kMaxDescriptors)] = {};
  msghdr message{};
  message.msg_iov = &part;
  message.msg_iovlen = 1;
  if (fd_count > 0) {
    message.msg_control = control;
    message.msg_controllen = CMSG_SPACE(sizeof(int) * fd_count);
    cmsghdr* header = CMSG_FIRSTHDR(&message);
    header->cmsg_level = SOL_SOCKET;
    header->cmsg_type = SCM_RIGHTS;
    header->cmsg_len = CMSG_LEN(sizeof(int) * fd_count);
    std::memcpy(CMSG_DATA(header), fds, sizeof(int) * fd_count);
  }
  long sent;
  do {
    sent = sendmsg(socket, &message, MSG_NOSIGNAL);
  } while (sent < 0 && errno == EINTR);
  return sent == static_cast<long>(bytes);
}

long Receive(int socket, void* record, size_t bytes, Descriptors& fds, int flags) {
  iovec part{record, bytes};
  alignas(cmsghdr) char control[CMSG_SPACE(sizeof(int) * kMaxDescriptors)];
  msghdr message{};
  message.msg_iov = &part;
  message.msg_iovlen = 1;
  message.msg_control = control;
  message.msg_controllen = sizeof control;
  long got;
  do {
    got = recvmsg(socket, &message, flags | MSG_CMSG_CLOEXEC);
  } while (got < 0 && errno == EINTR);
  if (got < 0) return got;
  for (cmsghdr* h = CMSG_FIRSTHDR(&message); h != nullptr; h = CMSG_NXTHDR(&message, h)) {
    if (h->cmsg_level != SOL_SOCKET || h->cmsg_type != SCM_RIGHTS) continue;
    fds.count = static_cast<int>((h->cmsg_len - CMSG_LEN(0)) / sizeof(int));
    std::memcpy(fds.fds, CMSG_DATA(h), sizeof(int) * fds.count);
  }
  return got;
}

}  // namespace sluice::jail
