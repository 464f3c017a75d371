// Whether the ranks of a gang are alive. A rank that is stopped, swapped out or cut off does not break a
// collective before that one's time has run out, and then nobody can say which rank it was. So every rank
// other than 0 counts up a key of the rendezvous store each `period`, and rank 0 looks at the keys; to the
// others rank 0 is alive while it answers. The thread that does it computes nothing, so a rank that is busy
// is not taken for a dead one.
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <thread>
#include <vector>

#include "absl/base/thread_annotations.h"
#include "absl/status/status.h"
#include "absl/synchronization/mutex.h"
#include "absl/time/time.h"
#include "core/comm/key_value.h"

namespace sluice {

struct GangPulseOptions {
  int rank = 0, world = 1;
  std::string gang;           // prefix of the keys; another one for each start of the gang
  KeyValue* store = nullptr;  // borrowed
  absl::Duration period = absl::Seconds(1);
  absl::Duration limit = absl::Seconds(20);  // a rank not heard of for so long is lost
  // Called at most once, on the pulse's thread: UNAVAILABLE names the rank.
  std::function<void(const absl::Status&)> on_lost;
  // On rank 0, at most once: another rank is told to stop, so the gang is to end in order.
  std::function<void(int rank)> on_leaving;
};

class GangPulse {
 public:
  explicit GangPulse(GangPulseOptions options);
  ~GangPulse();
  GangPulse(const GangPulse&) = delete;
  GangPulse& operator=(const GangPulse&) = delete;

  // On ranks other than 0: asks rank 0 to end the gang.
  absl::Status AskToLeave(absl::Time deadline);

 private:
  struct Heard {
    std::string count;
    absl::Duration silent;
  };
  void Run();
  absl::Status LookAtOthers(absl::Duration since_last);
  absl::Status BeatOnce(absl::Duration since_last);
  void LookForLeaving();
  absl::Status Lost(int rank, absl::Duration silent) const;
  std::string Key(const char* what, int rank) const;

  const GangPulseOptions options_;
  std::vector<Heard> heard_;  // by rank; the pulse's thread's
  bool leaving_ = false;      // seen; the pulse's thread's
  absl::Mutex mu_;
  bool stopping_ ABSL_GUARDED_BY(mu_) = false;
  std::thread thread_;
};

}  // namespace sluice
