#include "tests/sandbox/host_snapshot.h"

#include <sys/prctl.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>
#include <random>
#include <set>
#include <sstream>

#include "absl/strings/ascii.h"
#include "absl/strings/match.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "absl/strings/string_view.h"

namespace sluice {
namespace {

namespace fs = std::filesystem;
using Facts = std::map<std::string, int>;

std::vector<std::string> LinesOf(const std::string& path) {
  std::ifstream in(path);
  std::vector<std::string> lines;
  for (std::string line; std::getline(in, line);) lines.push_back(line);
  return lines;
}

struct Process {
  int pid, parent;
  std::string name, state;
};

// False when it went away meanwhile.
bool ReadProcess(const std::string& pid, Process& out) {
  std::ifstream in(absl::StrCat("/proc/", pid, "/stat"));
  std::stringstream whole;
  whole << in.rdbuf();
  std::string text = whole.str();
  size_t open = text.find('('), close = text.rfind(')');
  if (open == std::string::npos || close == std::string::npos) return false;
  out.name = text.substr(open + 1, close - open - 1);
  std::istringstream rest(text.substr(close + 1));
  return absl::SimpleAtoi(pid, &out.pid) && static_cast<bool>(rest >> out.state >> out.parent);
}

void AddProcesses(Facts& facts) {
  std::vector<Process> all;
  std::error_code error;
  for (const auto& entry : fs::directory_iterator("/proc", error)) {
    Process process;
    std::string name = entry.path().filename();
    if (absl::ascii_isdigit(static_cast<unsigned char>(name[0])) && ReadProcess(name, process)) {
      all.push_back(process);
    }
  }
  std::set<int> family = {getpid()};
  for (size_t before = 0; before != family.size();) {
    before = family.size();
    for (const Process& p : all) {
      if (family.count(p.parent)) family.insert(p.pid);
    }
  }
  for (const Process& p : all) {
    if (p.pid != getpid() && family.count(p.pid)) {
      ++facts[absl::StrCat("process ", p.pid, " (", p.name, p.state == "Z" ? ", zombie)" : ")")];
    }
  }
  for (const auto& entry : fs::directory_iterator("/proc/self/task", error)) {
    (void)entry;
    ++facts["threads"];
  }
}

// Sockets and pipes count by kind: their numbers are new each time.
void AddDescriptors(Facts& facts) {
  std::error_code error;
  for (const auto& entry : fs::directory_iterator("/proc/self/fd", error)) {
    std::error_code gone;
    std::string target = fs::read_symlink(entry.path(), gone);
    if (gone) continue;
    ++facts[absl::StrCat("descriptor of ", target.substr(0, target.find('[')))];
  }
}

constexpr int kAllLevels = 64;

// Each entry below `folder`, so many levels deep. A folder that goes away meanwhile ends itself alone: the
// library's recursive iterator would end there, and with it whatever comes after.
template <typename Visit>
void Walk(const fs::path& folder, int levels, const Visit& visit) {
  std::error_code error;
  for (fs::directory_iterator it(folder, error), end; !error && it != end; it.increment(error)) {
    visit(*it);
    std::error_code gone;
    if (levels > 1 && fs::is_directory(it->symlink_status(gone))) Walk(it->path(), levels - 1, visit);
  }
}

bool HasNumber(absl::string_view text, absl::string_view number) {
  const auto is_digit = [&](size_t i) {
    return i < text.size() && absl::ascii_isdigit(static_cast<unsigned char>(text[i]));
  };
  for (size_t at = text.find(number); at != absl::string_view::npos; at = text.find(number, at + 1)) {
    if (!is_digit(at - 1) && !is_digit(at + number.size())) return true;
  }
  return false;
}

void AddFiles(const std::string& folder, bool marked_only, Facts& facts) {
  Walk(folder, marked_only ? 3 : kAllLevels, [&](const fs::directory_entry& entry) {
    const std::string path = entry.path();
    if (!marked_only || absl::StrContains(path, AttackMark())) ++facts[absl::StrCat("file ", path)];
  });
}

void AddSystem(Facts& facts) {
  for (const std::string& line : LinesOf("/proc/self/mountinfo")) {
    std::vector<std::string> words = absl::StrSplit(line, ' ');
    if (words.size() > 4) ++facts[absl::StrCat("mount ", words[4])];
  }
  for (const char* kind : {"shm", "sem", "msg"}) {
    for (const std::string& line : LinesOf(absl::StrCat("/proc/sysvipc/", kind))) {
      std::vector<std::string> words = absl::StrSplit(line, ' ', absl::SkipEmpty());
      if (words.size() > 1 && words[0] != "key") {
        ++facts[absl::StrCat("ipc ", kind, " key ", words[0], " id ", words[1])];
      }
    }
  }
  const std::string mine = absl::StrCat(getpid());
  Walk("/sys/fs/cgroup", kAllLevels, [&](const fs::directory_entry& entry) {
    std::error_code gone;
    if (entry.is_directory(gone) && HasNumber(entry.path().filename().string(), mine)) {
      ++facts[absl::StrCat("control group ", entry.path().string())];
    }
  });
}

}  // namespace

const std::string& AttackMark() {
  static const std::string* const mark =
      new std::string(absl::StrCat("sluice_attack", getpid(), "x", std::random_device()()));
  return *mark;
}

void AdoptOrphans() { prctl(PR_SET_CHILD_SUBREAPER, 1); }

HostSnapshot HostSnapshot::Take(const std::vector<std::string>& folders) {
  HostSnapshot out;
  AddProcesses(out.facts_);
  AddDescriptors(out.facts_);
  AddSystem(out.facts_);
  for (const std::string& folder : folders) AddFiles(folder, false, out.facts_);
  for (const char* folder : {"/tmp", "/var/tmp", "/dev/shm", "/dev/mqueue", "/run", "."}) {
    AddFiles(folder, true, out.facts_);
  }
  return out;
}

std::vector<std::string> HostSnapshot::Beyond(const HostSnapshot& before) const {
  std::vector<std::string> out;
  for (const auto& [fact, count] : facts_) {
    auto found = before.facts_.find(fact);
    int more = count - (found == before.facts_.end() ? 0 : found->second);
    if (more > 0) out.push_back(more == 1 ? fact : absl::StrCat(fact, " x", more));
  }
  return out;
}

}  // namespace sluice
