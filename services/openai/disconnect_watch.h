// Raises tokens of calls whose clients closed their connections: a call that only computes would not notice.
// Thread-safe.
#pragma once

#include <map>
#include <thread>

#include "absl/base/thread_annotations.h"
#include "absl/synchronization/mutex.h"
#include "core/base/cancellation.h"

namespace sluice::openai {

class DisconnectWatch {
 public:
  DisconnectWatch();
  // No socket is watched any more.
  ~DisconnectWatch();
  // Until Forget; the socket is only looked at. At most a tenth of a second after its peer closed it, or shut
  // down its sending side, the token is raised.
  void Add(int socket, CancelToken token);
  void Forget(int socket);
  // Raises all tokens, those of sockets added later as well.
  void CancelAll();

 private:
  void Watch();
  void Look();

  absl::Mutex mu_;
  std::map<int, CancelToken> watched_ ABSL_GUARDED_BY(mu_);
  bool cancelled_ ABSL_GUARDED_BY(mu_) = false, stop_ ABSL_GUARDED_BY(mu_) = false;
  std::thread thread_;
};

// The socket of this process whose peer is on `peer_port` of this machine and which is itself on `own_port`;
// -1 when there is none. civetweb does not tell which socket a request came on.
int SocketBetween(int own_port, int peer_port);

}  // namespace sluice::openai
