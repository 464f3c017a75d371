// Records and descriptors over a SOCK_SEQPACKET socket.
#pragma once

#include <cstddef>

#include "reward/sandbox/jail/protocol.h"

namespace sluice::jail {

// Descriptors that came with a record; closes what was not taken.
class Descriptors {
 public:
  Descriptors() = default;
  Descriptors(const Descriptors&) = delete;
  Descriptors& operator=(const Descriptors&) = delete;
  ~Descriptors();
  int operator[](int i) const { return i < count ? fds[i] : -1; }
  int Take(int i);
  int fds[kMaxDescriptors] = {-1, -1, -1, -1, -1};
  int count = 0;
};

// False with errno set when the peer is gone or the record does not fit.
bool Send(int socket, const void* record, size_t bytes, const int* fds = nullptr, int fd_count = 0);
// The bytes read; 0: the peer is gone; -1: errno. `flags` as of recvmsg.
long Receive(int socket, void* record, size_t bytes, Descriptors& fds, int flags = 0);

}  // namespace sluice::jail
