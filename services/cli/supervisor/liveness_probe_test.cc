#include "services/cli/supervisor/liveness_probe.h"

#include <arpa/inet.h>
#include <netinet/in.h>
#include <poll.h>
#include <sys/socket.h>
#include <unistd.h>

#include "absl/strings/str_cat.h"
#include "gtest/gtest.h"

namespace sluice::cli {
namespace {

// Listens; what comes waits until the test takes it.
class Listener {
 public:
  Listener() : fd_(socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0)) {
    sockaddr_in at = {};
    at.sin_family = AF_INET;
    at.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    socklen_t size = sizeof(at);
    EXPECT_EQ(bind(fd_, reinterpret_cast<const sockaddr*>(&at), sizeof(at)), 0);
    EXPECT_EQ(listen(fd_, 8), 0);
    EXPECT_EQ(getsockname(fd_, reinterpret_cast<sockaddr*>(&at), &size), 0);
    address_ = absl::StrCat("127.0.0.1:", ntohs(at.sin_port));
  }
  ~Listener() { close(fd_); }
  const std::string& address() const { return address_; }
  // Reads the question, answers one byte where `answers`, and hangs up.
  void Serve(bool answers) const {
    const int client = accept(fd_, nullptr, nullptr);
    char question[256];
    EXPECT_GT(read(client, question, sizeof(question)), 0);
    if (answers) {
      EXPECT_EQ(write(client, "H", 1), 1);
    }
    close(client);
  }
  bool Asked() const {
    pollfd in = {fd_, POLLIN, 0};
    return poll(&in, 1, 0) == 1;
  }

 private:
  const int fd_;
  std::string address_;
};

constexpr absl::Duration kInterval = absl::Seconds(5), kLimit = absl::Seconds(10);

class LivenessProbeTest : public ::testing::Test {
 protected:
  // The looks of so many seconds, one a second; false as soon as one says that it is silent.
  bool LookFor(LivenessProbe& probe, int seconds) {
    for (int i = 0; i < seconds; ++i) {
      now_ += absl::Seconds(1);
      if (!probe.Look(now_)) return false;
    }
    return true;
  }
  absl::Time now_ = absl::FromUnixSeconds(1000);
};

TEST_F(LivenessProbeTest, AsksAgainAfterEachAnswer) {
  const Listener listener;
  LivenessProbe probe(listener.address(), kInterval, kLimit);
  for (const bool answers : {true, false, true}) {  // to hang up is an answer as well
    ASSERT_TRUE(LookFor(probe, 1));
    ASSERT_TRUE(listener.Asked());
    listener.Serve(answers);
    ASSERT_TRUE(LookFor(probe, 1));
    EXPECT_FALSE(listener.Asked());
    ASSERT_TRUE(LookFor(probe, 4));
  }
}

TEST_F(LivenessProbeTest, SaysWhenThereWasNoAnswerForTheLimit) {
  const Listener listener;  // the kernel takes the connection, nobody reads
  LivenessProbe probe(listener.address(), kInterval, kLimit);
  EXPECT_TRUE(LookFor(probe, 11));
  EXPECT_FALSE(LookFor(probe, 1));
}

TEST_F(LivenessProbeTest, TimeInWhichNobodyLookedDoesNotCount) {
  const Listener listener;
  LivenessProbe probe(listener.address(), kInterval, kLimit);
  ASSERT_TRUE(LookFor(probe, 1));
  now_ += absl::Hours(8);
  EXPECT_TRUE(LookFor(probe, 9));
  EXPECT_FALSE(LookFor(probe, 1));
}

TEST_F(LivenessProbeTest, ARefusedConnectionIsNotSilence) {
  std::string address;
  {
    const Listener listener;
    address = listener.address();
  }
  LivenessProbe probe(address, kInterval, kLimit);
  EXPECT_TRUE(LookFor(probe, 60));
}

TEST_F(LivenessProbeTest, WhatIsNoAddressIsNotAsked) {
  for (const char* address : {"", "127.0.0.1", "host:80", "127.0.0.1:65536", "[::1]:80", ":"}) {
    LivenessProbe probe(address, kInterval, kLimit);
    EXPECT_TRUE(LookFor(probe, 60)) << address;
  }
}

}  // namespace
}  // namespace sluice::cli
