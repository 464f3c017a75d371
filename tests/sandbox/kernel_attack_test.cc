// Attacks on the kernel's interfaces, on what is around the box, and between boxes.
#include <netinet/in.h>
#include <poll.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include <cstring>

#include "absl/strings/str_cat.h"
#include "gmock/gmock.h"
#include "tests/sandbox/attack.h"

namespace sluice {
namespace {

class KernelAttackTest : public AttackTest {};
TEST_P(KernelAttackTest, IsContained) { Run(GetParam()); }

Attack Refused(const char* program, int lines) { return {program, {RunEnd::kExited}, AttackLimits(), lines}; }

INSTANTIATE_TEST_SUITE_P(Table, KernelAttackTest,
                         testing::Values(Refused("29_environment_secrets.py", 2),
                                         Refused("30_inherited_descriptors.py", 20),
                                         Refused("31_proc_of_others.py", 18), Refused("35_keyring.cc", 5),
                                         Refused("36_socket_families.py", 15), Refused("37_io_uring.cc", 5),
                                         Refused("38_other_architectures.cc", 8),
                                         Refused("39_nested_namespaces.cc", 30),
                                         Refused("40_lock_channel.py", 10), Refused("44_privileges.py", 13),
                                         Refused("45_terminal.cc", 17),
                                         Attack{"46_core_dump.cc",
                                                {RunEnd::kSignalled},
                                                AttackLimits(),
                                                2,
                                                "",
                                                [](SandboxBox& box, const RunResult& result) {
                                                  EXPECT_EQ(result.signal, SIGABRT);
                                                  EXPECT_FALSE(box.ReadFile("core", 1 << 30).ok());
                                                }},
                                         Refused("48_kernel_calls.cc", 42),
                                         Refused("49_open_by_handle.cc", 3), Refused("50_clocks.cc", 7)),
                         AttackName);

class Listener {
 public:
  explicit Listener(const sockaddr* address, socklen_t size)
      : socket_(socket(address->sa_family, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0)) {
    EXPECT_EQ(bind(socket_, address, size), 0) << strerror(errno);
    EXPECT_EQ(listen(socket_, 8), 0);
  }
  ~Listener() { close(socket_); }
  int port() const {
    sockaddr_in address{};
    socklen_t size = sizeof address;
    getsockname(socket_, reinterpret_cast<sockaddr*>(&address), &size);
    return ntohs(address.sin_port);
  }
  bool Reached() const { return accept(socket_, nullptr, nullptr) >= 0 || errno != EAGAIN; }

 private:
  int socket_;
};

TEST_F(KernelAttackTest, Attack41NoRouteToTheHostsPorts) {
  sockaddr_in any{};
  any.sin_family = AF_INET;
  Listener listener(reinterpret_cast<sockaddr*>(&any), sizeof any);
  Attack attack = Refused("41_network.py", 11);
  attack.input = absl::StrCat(listener.port(), "\n");
  Run(attack);
  EXPECT_FALSE(listener.Reached());
}

TEST_F(KernelAttackTest, Attack42UnixSocketsOfTheHost) {
  auto named = [](const std::string& name, sockaddr_un& out) {
    out = {};
    out.sun_family = AF_UNIX;
    memcpy(out.sun_path, name.data(), name.size());
    return static_cast<socklen_t>(offsetof(sockaddr_un, sun_path) + name.size());
  };
  std::string name = AttackMark(), path = absl::StrCat(host_folder(), "/", AttackMark(), "_socket");
  sockaddr_un abstract, file;
  socklen_t abstract_size = named(std::string(1, '\0') + name, abstract), file_size = named(path, file);
  Listener on_name(reinterpret_cast<sockaddr*>(&abstract), abstract_size),
      on_path(reinterpret_cast<sockaddr*>(&file), file_size);
  Attack attack = Refused("42_unix_sockets.py", 14);
  attack.input = absl::StrCat(name, " ", path, "\n");
  Run(attack);
  EXPECT_FALSE(on_name.Reached() || on_path.Reached());
}

// One box takes every lock there is on files that all boxes see; another, at the same time, takes them too.
TEST_F(KernelAttackTest, Attack40LocksAreNotSeenByAnotherBox) {
  auto first = Open(), second = Open();
  ASSERT_TRUE(first != nullptr && second != nullptr);
  const std::string source = AttackSource("attempt.py") + AttackSource("40_locks_of_two_boxes.py");
  RunRequest hold{{}, source, "hold\n", AttackLimits()}, take{{}, source, "take\n", AttackLimits()};
  hold.limits.wall = absl::Seconds(60);
  hold.channel = true;
  auto holding = first->Start(hold);
  ASSERT_TRUE(holding.ok()) << holding.status();
  pollfd held{(*holding)->channel(), POLLIN, 0};
  ASSERT_EQ(poll(&held, 1, 60000), 1);
  char ready = 0;
  EXPECT_EQ(read(held.fd, &ready, 1), 1) << (*holding)->Wait().error_output;
  const RunResult taken = RunToEnd(*second, take);
  EXPECT_EQ(taken.end, RunEnd::kExited) << taken.error;
  EXPECT_THAT(taken.output, testing::Not(testing::HasSubstr("BREACH")));
  EXPECT_THAT(taken.output, testing::HasSubstr("flock /usr"));
  (*holding)->Kill();
}

// One box listens; another looks for it, at the same time and afterwards.
TEST_F(KernelAttackTest, Attack43NothingPassesBetweenBoxes) {
  HostSnapshot before = Snapshot();
  const std::string source = AttackSource("attempt.py") + AttackSource("43_loopback_left.py");
  RunRequest leave{{}, source, "leave 18743\n", AttackLimits()},
      find{{}, source, "find 18743\n", AttackLimits()};
  auto expect_none = [](const RunResult& found) {
    EXPECT_EQ(found.end, RunEnd::kExited) << found.error;
    EXPECT_THAT(found.output, testing::Not(testing::HasSubstr("ALLOWED")));
    EXPECT_THAT(found.output, testing::HasSubstr("abstract: "));
  };
  {
    auto first = Open(), second = Open();
    ASSERT_TRUE(first != nullptr && second != nullptr);
    auto listening = first->Start(leave);
    ASSERT_TRUE(listening.ok()) << listening.status();
    expect_none(RunToEnd(*second, find));
    EXPECT_THAT((*listening)->Wait().output, testing::HasSubstr("ready"));
    expect_none(RunToEnd(*first, find));
  }
  auto third = Open();
  ASSERT_NE(third, nullptr);
  expect_none(RunToEnd(*third, find));
  third = nullptr;
  EXPECT_THAT(Snapshot().Beyond(before), testing::IsEmpty());
}

}  // namespace
}  // namespace sluice
