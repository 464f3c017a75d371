// What the scheduler would otherwise look for in all groups and all workers. Derived: where something is
// listed follows from one group or one worker alone (GroupState, WorkerState, and what the learner was
// given), so a change costs the logarithm of their number. Whoever changes one calls Place for it afterwards.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <utility>

#include "absl/time/time.h"
#include "core/rl/types.h"

namespace sluice {

// Training groups are named by their draw; an evaluation's by the row of its prompt.
struct GroupKey {
  bool evaluation = false;
  Draw draw = 0;
  friend auto operator<=>(const GroupKey&, const GroupKey&) = default;
};

struct GroupState;
struct WorkerState;

// Where a group is listed.
struct GroupPlace {
  bool pending = false;                          // has samples that wait for an attempt
  bool open = false, ready = false;              // of training: not complete, complete
  absl::Time deadline = absl::InfiniteFuture();  // where it is open
  friend bool operator==(const GroupPlace&, const GroupPlace&) = default;
};

class GroupIndex {
 public:
  struct Count {
    int64_t open = 0, ready = 0;
    friend bool operator==(const Count&, const Count&) = default;
  };

  void Place(const GroupKey& key, GroupState& group);
  void Remove(const GroupKey& key, GroupState& group);  // before it is erased
  // The learner has it; it has none any more.
  void Added(PolicyVersion train_by, Draw draw) { to_add_.erase({train_by, draw}); }
  void NoneAdded() { to_add_ = ready_; }

  // All by train_by, then draw.
  const std::set<std::pair<PolicyVersion, GroupKey>>& pending() const { return pending_; }
  const std::set<std::pair<PolicyVersion, Draw>>& ready() const { return ready_; }
  const std::set<std::pair<PolicyVersion, Draw>>& to_add() const { return to_add_; }  // ready, not added
  const std::map<PolicyVersion, Count>& by_train_by() const { return by_train_by_; }
  int64_t outstanding() const { return outstanding_; }  // open or ready
  // Those that are open, by their deadline, where they have one.
  const std::set<std::pair<absl::Time, Draw>>& deadlines() const { return deadlines_; }

  friend bool operator==(const GroupIndex&, const GroupIndex&) = default;

 private:
  void Move(const GroupKey& key, GroupState& group, const GroupPlace& to);

  std::set<std::pair<PolicyVersion, GroupKey>> pending_;
  std::set<std::pair<PolicyVersion, Draw>> ready_, to_add_;
  std::set<std::pair<absl::Time, Draw>> deadlines_;
  std::map<PolicyVersion, Count> by_train_by_;
  int64_t outstanding_ = 0;
};

// Who has room for one more attempt or score call: how it is reached, what it serves, what it has.
struct RoomKey {
  bool called = false;
  PolicyVersion version = kNoPolicyVersion;
  int32_t load = 0;
  friend auto operator<=>(const RoomKey&, const RoomKey&) = default;
};

// Where a worker is listed; nothing where it is not.
struct WorkerPlace {
  std::optional<RoomKey> room;
  std::optional<PolicyVersion> to_load;                    // may load; what it serves
  std::optional<std::pair<PolicyVersion, int32_t>> gives;  // what it can give, receivers so far
  std::optional<absl::Time> rests, loads;                  // until when
  int32_t called = 0;                                      // attempts under way that take a thread
  friend bool operator==(const WorkerPlace&, const WorkerPlace&) = default;
};

class WorkerIndex {
 public:
  template <typename Key>
  using Names = std::set<std::pair<Key, std::string>>;

  void Place(const std::string& name, WorkerState& worker);
  void Remove(const std::string& name, WorkerState& worker);  // before it is replaced
  // `source` ("": the learner) begins or ends to give a policy to one more. Place it afterwards.
  void CountReceiver(const std::string& source, int32_t change);
  int32_t ReceiversOf(const std::string& source) const;

  // The least loaded that serves a version of the range, not `except`; of those that are called only where
  // `may_call`.
  const std::string* LeastLoaded(PolicyVersion min, PolicyVersion max, bool may_call,
                                 const std::string& except = "") const;
  const Names<PolicyVersion>& to_load() const { return to_load_; }
  // By what they serve, then those with the fewest receivers first.
  const Names<std::pair<PolicyVersion, int32_t>>& givers() const { return givers_; }
  const Names<absl::Time>& resting() const { return resting_; }
  const Names<absl::Time>& loading() const { return loading_; }
  int64_t called() const { return called_; }

  friend bool operator==(const WorkerIndex&, const WorkerIndex&) = default;

 private:
  void Move(const std::string& name, WorkerState& worker, WorkerPlace to);

  Names<RoomKey> room_;
  Names<PolicyVersion> to_load_;
  Names<std::pair<PolicyVersion, int32_t>> givers_;
  Names<absl::Time> resting_, loading_;
  std::map<std::string, int32_t> receivers_;
  int64_t called_ = 0;
};

}  // namespace sluice
