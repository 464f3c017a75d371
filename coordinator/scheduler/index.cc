#include "coordinator/scheduler/index.h"

#include <algorithm>

#include "coordinator/scheduler/scheduler.h"

namespace sluice {
namespace {

template <typename Set, typename Entry>
void List(Set& set, const Entry& entry, bool before, bool after) {
  if (before && !after) set.erase(entry);
  if (!before && after) set.insert(entry);
}

template <typename Key>
void Relist(std::set<std::pair<Key, std::string>>& names, const std::string& name,
            const std::optional<Key>& before, const std::optional<Key>& after) {
  if (before == after) return;
  if (before) names.erase({*before, name});
  if (after) names.insert({*after, name});
}

bool Waits(const GroupState& group) {
  return std::any_of(group.samples.begin(), group.samples.end(),
                     [](const SampleSlot& slot) { return slot.status == SampleStatus::kPending; });
}

}  // namespace

void GroupIndex::Place(const GroupKey& key, GroupState& group) {
  Move(key, group,
       {.pending = Waits(group),
        .open = !key.evaluation && !group.ready,
        .ready = !key.evaluation && group.ready,
        .deadline = key.evaluation || group.ready ? absl::InfiniteFuture() : group.deadline});
}

void GroupIndex::Remove(const GroupKey& key, GroupState& group) { Move(key, group, {}); }

void GroupIndex::Move(const GroupKey& key, GroupState& group, const GroupPlace& to) {
  const GroupPlace from = std::exchange(group.place, to);
  List(pending_, std::pair(group.train_by, key), from.pending, to.pending);
  if (from.deadline != to.deadline) {
    List(deadlines_, std::pair(from.deadline, key.draw), from.deadline != absl::InfiniteFuture(), false);
    List(deadlines_, std::pair(to.deadline, key.draw), false, to.deadline != absl::InfiniteFuture());
  }
  if (from.open == to.open && from.ready == to.ready) return;
  const std::pair<PolicyVersion, Draw> entry(group.train_by, key.draw);
  List(ready_, entry, from.ready, to.ready);
  List(to_add_, entry, from.ready, to.ready);
  Count& count = by_train_by_[group.train_by];
  count.open += to.open - from.open;
  count.ready += to.ready - from.ready;
  outstanding_ += to.open + to.ready - from.open - from.ready;
  if (count == Count{}) by_train_by_.erase(group.train_by);
}

void WorkerIndex::Place(const std::string& name, WorkerState& worker) {
  WorkerPlace to;
  const bool rests = worker.not_before != absl::InfinitePast();
  const bool loading = worker.loading != kNoPolicyVersion;
  const auto load = static_cast<int32_t>(worker.calls.size());
  // The canary is given work and versions by name.
  const bool listed = worker.alive && !rests && !worker.canary;
  if (listed && load < worker.slots) to.room = {worker.called, worker.version, load};
  if (listed && !loading) to.to_load = worker.version;
  if (worker.alive && worker.gives && ReceiversOf(name) < kReceiversPerSource)
    to.gives = {worker.version, ReceiversOf(name)};
  if (rests) to.rests = worker.not_before;
  if (loading) to.loads = worker.load_deadline;
  if (worker.called) to.called = load;
  Move(name, worker, to);
}

void WorkerIndex::Remove(const std::string& name, WorkerState& worker) { Move(name, worker, {}); }

void WorkerIndex::Move(const std::string& name, WorkerState& worker, WorkerPlace to) {
  const WorkerPlace from = std::exchange(worker.place, to);
  Relist(room_, name, from.room, to.room);
  Relist(to_load_, name, from.to_load, to.to_load);
  Relist(givers_, name, from.gives, to.gives);
  Relist(resting_, name, from.rests, to.rests);
  Relist(loading_, name, from.loads, to.loads);
  called_ += to.called - from.called;
}

void WorkerIndex::CountReceiver(const std::string& source, int32_t change) {
  if ((receivers_[source] += change) == 0) receivers_.erase(source);
}

int32_t WorkerIndex::ReceiversOf(const std::string& source) const {
  const auto it = receivers_.find(source);
  return it == receivers_.end() ? 0 : it->second;
}

const std::string* WorkerIndex::LeastLoaded(PolicyVersion min, PolicyVersion max, bool may_call,
                                            const std::string& except) const {
  const std::pair<RoomKey, std::string>* best = nullptr;
  for (bool called : {false, true}) {
    if (called && !may_call) break;
    const auto from = [&](PolicyVersion version) { return room_.lower_bound({{called, version, 0}, ""}); };
    auto it = from(min);
    while (it != room_.end() && it->first.called == called && it->first.version <= max) {
      if (it->second == except) {
        ++it;
        continue;
      }
      const auto order = [](const auto& entry) { return std::tie(entry.first.load, entry.second); };
      if (best == nullptr || order(*it) < order(*best)) best = &*it;
      it = from(it->first.version + 1);
    }
  }
  return best == nullptr ? nullptr : &best->second;
}

}  // namespace sluice
