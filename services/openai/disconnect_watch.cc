#include "services/openai/disconnect_watch.h"

#include <netinet/in.h>
#include <poll.h>
#include <sys/socket.h>

#include <filesystem>
#include <utility>
#include <vector>

#include "absl/strings/numbers.h"

namespace sluice::openai {
namespace {

constexpr absl::Duration kPeriod = absl::Milliseconds(100);

// Of an address that getsockname or getpeername gave; 0 for other families.
int PortOf(const sockaddr_storage& address) {
  if (address.ss_family == AF_INET) return ntohs(reinterpret_cast<const sockaddr_in*>(&address)->sin_port);
  if (address.ss_family == AF_INET6) return ntohs(reinterpret_cast<const sockaddr_in6*>(&address)->sin6_port);
  return 0;
}

bool Connects(int socket, int own_port, int peer_port) {
  sockaddr_storage own{}, peer{};
  socklen_t own_size = sizeof(own), peer_size = sizeof(peer);
  return getsockname(socket, reinterpret_cast<sockaddr*>(&own), &own_size) == 0 &&
         getpeername(socket, reinterpret_cast<sockaddr*>(&peer), &peer_size) == 0 &&
         PortOf(own) == own_port && PortOf(peer) == peer_port;
}

}  // namespace

DisconnectWatch::DisconnectWatch() : thread_([this] { Watch(); }) {}

DisconnectWatch::~DisconnectWatch() {
  {
    absl::MutexLock lock(&mu_);
    stop_ = true;
  }
  thread_.join();
}

void DisconnectWatch::Add(int socket, CancelToken token) {
  absl::MutexLock lock(&mu_);
  if (cancelled_) token.Cancel();
  watched_.insert_or_assign(socket, std::move(token));
}

void DisconnectWatch::Forget(int socket) {
  absl::MutexLock lock(&mu_);
  watched_.erase(socket);
}

void DisconnectWatch::CancelAll() {
  absl::MutexLock lock(&mu_);
  cancelled_ = true;
  for (const auto& [socket, token] : watched_) token.Cancel();
}

void DisconnectWatch::Watch() {
  while (true) {
    {
      absl::MutexLock lock(&mu_);
      if (mu_.AwaitWithTimeout(absl::Condition(&stop_), kPeriod)) return;
    }
    Look();
  }
}

void DisconnectWatch::Look() {
  absl::MutexLock lock(
      &mu_);  // held while polling (without waiting), so that no socket is forgotten meanwhile
  std::vector<pollfd> sockets;
  for (const auto& [socket, token] : watched_) sockets.push_back({socket, POLLRDHUP, 0});
  if (sockets.empty() || poll(sockets.data(), sockets.size(), 0) <= 0) return;
  for (const pollfd& socket : sockets) {
    if (socket.revents != 0) watched_.at(socket.fd).Cancel();
  }
}

int SocketBetween(int own_port, int peer_port) {
  std::error_code error;
  for (const auto& entry : std::filesystem::directory_iterator("/proc/self/fd", error)) {
    int socket = -1;
    if (absl::SimpleAtoi(entry.path().filename().string(), &socket) && Connects(socket, own_port, peer_port))
      return socket;
  }
  return -1;
}

}  // namespace sluice::openai
