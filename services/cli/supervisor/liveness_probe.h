// Asks a process of the fleet again and again whether it answers: a TCP connection, a question, any byte
// back. Only silence counts against it; a refused or closed connection is an answer. Never blocks. Not
// thread-safe.
#pragma once

#include <string>

#include "absl/time/time.h"

namespace sluice::cli {

class LivenessProbe {
 public:
  // `address`: of an HTTP endpoint, numeric IPv4 and port; a probe of another form always says yes.
  LivenessProbe(std::string address, absl::Duration interval, absl::Duration limit);
  ~LivenessProbe();
  LivenessProbe(const LivenessProbe&) = delete;
  LivenessProbe& operator=(const LivenessProbe&) = delete;

  // Goes on with the question under way, or asks the next. False: there was no answer for `limit`. Between
  // two looks at most kLongestGap counts, so a machine that slept has not made anyone silent.
  bool Look(absl::Time now);

  static constexpr absl::Duration kLongestGap = absl::Seconds(2);

 private:
  enum class Answer { kNone, kSilence, kCame };
  void Ask();
  Answer Hear();
  void Close();

  const std::string address_;
  const absl::Duration interval_, limit_;
  int socket_ = -1;  // of the question under way; -1: none
  bool asked_ = false;
  absl::Time next_ = absl::InfinitePast();  // question
  absl::Time last_look_;
  absl::Duration silence_;  // since the question
};

}  // namespace sluice::cli
