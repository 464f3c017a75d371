// What a run could leave behind on the host, seen from the process that owns the sandbox.
#pragma once

#include <map>
#include <string>
#include <vector>

namespace sluice {

// What every program of the tests has in the names of all that it makes. In files of attacks/ it stands as
// "sluice_attack"; here it is this process's own, so that what other tests make at the same time is not
// taken for this one's.
const std::string& AttackMark();

// Makes this process the parent of whatever its descendants leave, so that nothing of theirs escapes the
// count. Once, before the first snapshot.
void AdoptOrphans();

class HostSnapshot {
 public:
  // Descendants of this process and its threads, its descriptors, mounts, objects of System V IPC, control
  // groups of this process's sandboxes, and files: all of `folders`, and everything with the mark in the
  // places where anyone may write. What others make and remove there meanwhile neither shows nor hides.
  static HostSnapshot Take(const std::vector<std::string>& folders);
  // "process 123 (name)", "file /tmp/x", ... that are there now and were not in `before`.
  std::vector<std::string> Beyond(const HostSnapshot& before) const;

 private:
  std::map<std::string, int> facts_;
};

}  // namespace sluice
