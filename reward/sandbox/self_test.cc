#include "reward/sandbox/self_test.h"

#include <poll.h>
#include <unistd.h>

#include <cerrno>
#include <functional>
#include <memory>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "reward/sandbox/embedded_jail.h"

namespace sluice {
namespace {

// Each of these tries to pass a limit; "" when the limit held, else what was seen.
using Attempt = std::function<std::string(SandboxBox&)>;

struct Finished {
  std::string error;  // of the sandbox
  RunResult result;
};

Finished RunToEnd(SandboxBox& box, const RunRequest& request) {
  auto run = box.Start(request);
  if (!run.ok()) return {std::string(run.status().message()), {}};
  Finished done;
  done.result = (*run)->Wait();
  if (done.result.end == RunEnd::kInfrastructure) done.error = done.result.error;
  return done;
}

std::string Describe(const Finished& done) {
  if (!done.error.empty()) return done.error;
  return absl::StrCat("ended with ", static_cast<int>(done.result.end), ", exit code ", done.result.exit_code,
                      ", signal ", done.result.signal, done.result.error_output.empty() ? "" : ": ",
                      done.result.error_output);
}

RunRequest Request(const char* source) {
  RunRequest request;
  request.python_source = source;
  request.limits.wall = absl::Seconds(10);
  request.limits.cpu = absl::Seconds(10);
  request.limits.memory_bytes = int64_t{128} << 20;
  return request;
}

// Runs `request`, which must end as `wanted`.
std::string Expect(SandboxBox& box, const RunRequest& request, RunEnd wanted) {
  const Finished done = RunToEnd(box, request);
  return done.error.empty() && done.result.end == wanted ? "" : Describe(done);
}

std::string MemoryAttempt(SandboxBox& box) {
  RunRequest request = Request("b = bytearray(1 << 20)\nl = [bytes(b) + b'x' for _ in range(512)]");
  request.limits.memory_bytes = int64_t{64} << 20;
  return Expect(box, request, RunEnd::kMemoryLimit);
}

std::string ProcessAttempt(SandboxBox& box) {
  RunRequest request =
      Request("import os, signal\nfor i in range(64):\n    if os.fork() == 0: signal.pause()");
  request.limits.processes = 16;
  return Expect(box, request, RunEnd::kProcessLimit);
}

// The time is burnt in a child that nobody waits for.
std::string CpuAttempt(SandboxBox& box) {
  RunRequest request = Request("import os, signal\nif os.fork() == 0:\n    while True: pass\nsignal.pause()");
  request.limits.cpu = absl::Milliseconds(100);
  return Expect(box, request, RunEnd::kTimeLimit);
}

std::string WallAttempt(SandboxBox& box) {
  RunRequest request = Request("import signal\nsignal.pause()");
  request.limits.wall = absl::Milliseconds(50);
  return Expect(box, request, RunEnd::kTimeLimit);
}

std::string OutputAttempt(SandboxBox& box) {
  RunRequest request = Request("while True: print('x' * 1000)");
  request.limits.output_bytes = 100000;
  return Expect(box, request, RunEnd::kOutputLimit);
}

std::string FileAttempt(SandboxBox& box) {
  RunRequest request = Request(
      "import os, sys\n"
      "try:\n    open('big', 'wb').write(b'x' * (3 << 20))\n    sys.exit(2)\nexcept OSError: "
      "os.unlink('big')\n"
      "try:\n    for i in range(200): open(f'/tmp/{i}', 'w').close()\n    sys.exit(3)\nexcept OSError: "
      "pass\n");
  request.limits.file_bytes = int64_t{1} << 20;
  request.limits.files = 100;
  const Finished done = RunToEnd(box, request);
  return done.error.empty() && done.result.end == RunEnd::kExited && done.result.exit_code == 0
             ? ""
             : Describe(done);
}

// A process in a session of its own keeps the channel open; once the run has ended nobody may.
std::string EscapeAttempt(SandboxBox& box) {
  RunRequest request = Request(
      "import os, signal\n"
      "if os.fork() == 0:\n    os.setsid()\n    if os.fork() == 0:\n"
      "        for s in range(1, 32):\n            if s not in (9, 19): signal.signal(s, signal.SIG_IGN)\n"
      "        os.write(3, b'here')\n        while True: signal.pause()\n    os._exit(0)\n"
      "os.wait()\nos.read(0, 1)\nos.write(1, b'done')");
  request.channel = true;
  auto run = box.Start(request);
  if (!run.ok()) return std::string(run.status().message());
  const int channel = (*run)->channel();
  const RunResult result = (*run)->Wait();
  if (result.end != RunEnd::kExited || result.output != "done") return Describe({result.error, result});
  char text[16];
  ssize_t got;
  do {
    got = read(channel, text, sizeof text);
  } while (got > 0);
  return got == 0 ? "" : "a process outlived its run";
}

void Try(Sandbox& sandbox, const char* name, const Attempt& attempt, std::vector<SandboxProperty>& out) {
  auto box = sandbox.Open(absl::Now() + absl::Seconds(20));
  const std::string seen = box.ok() ? attempt(**box) : std::string(box.status().message());
  out.push_back({name, seen.empty(), seen.empty() ? "" : Remedy(name, seen)});
}

std::string OwnNamespaces() {
  std::string text;
  for (const char* kind : {"user", "mnt", "pid", "net", "ipc", "uts", "cgroup"}) {
    char link[64] = {};
    if (readlink(absl::StrCat("/proc/self/ns/", kind).c_str(), link, sizeof link - 1) > 0) {
      absl::StrAppend(&text, kind, " ", link, "\n");
    }
  }
  return text;
}

void Probe(Sandbox& sandbox, std::vector<SandboxProperty>& out) {
  RunRequest request = Request("");
  request.python_source = std::string(EmbeddedProbes());
  request.standard_input = OwnNamespaces();
  auto box = sandbox.Open(absl::Now() + absl::Seconds(20));
  Finished done;
  if (!box.ok()) done.error = std::string(box.status().message());
  if (box.ok()) done = RunToEnd(**box, request);
  const bool ran = done.error.empty() && done.result.end == RunEnd::kExited && done.result.exit_code == 0;
  out.push_back({"python", ran, ran ? "" : Remedy("python", Describe(done))});
  for (absl::string_view line : absl::StrSplit(done.result.output, '\n', absl::SkipEmpty())) {
    const std::vector<std::string> fields = absl::StrSplit(line, '\t');
    if (fields.size() != 3) continue;
    const bool holds = fields[1] == "1";
    out.push_back({fields[0], holds, holds ? "" : Remedy(fields[0], fields[2])});
  }
}

}  // namespace

std::vector<SandboxProperty> TestSandbox(Sandbox& sandbox, const ControlGroups& groups) {
  std::vector<SandboxProperty> properties;
  Probe(sandbox, properties);
  const struct {
    const char* name;
    CgroupController controller;
    Attempt attempt;
  } counted[] = {{"memory_limit", CgroupController::kMemory, MemoryAttempt},
                 {"process_limit", CgroupController::kPids, ProcessAttempt},
                 {"cpu_limit", CgroupController::kCpu, CpuAttempt}};
  for (const auto& [name, controller, attempt] : counted) {
    if (groups.Has(controller)) {
      Try(sandbox, name, attempt, properties);
    } else {
      properties.push_back({name, false, Remedy(name, groups.why())});
    }
  }
  Try(sandbox, "wall_limit", WallAttempt, properties);
  Try(sandbox, "output_limit", OutputAttempt, properties);
  Try(sandbox, "file_limits", FileAttempt, properties);
  Try(sandbox, "tree_kill", EscapeAttempt, properties);
  return properties;
}

}  // namespace sluice
