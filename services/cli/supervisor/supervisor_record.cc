#include "services/cli/supervisor/supervisor_record.h"

#include <algorithm>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "core/base/file.h"
#include "core/base/status.h"
#include "nlohmann/json.hpp"

namespace sluice::cli {
namespace {

constexpr int64_t kMaxRecordBytes = 1 << 20;
constexpr double kMaxStopSeconds = 86400;
using Json = nlohmann::json;

std::string PathOf(const std::string& state) { return absl::StrCat(state, "/run/supervisor.json"); }

// A number member; 0 when it is absent or of another type.
uint64_t NumberOf(const Json& object, const char* name) {
  const auto it = object.find(name);
  return it != object.end() && it->is_number_integer() ? it->get<uint64_t>() : 0;
}

std::string TextOf(const Json& object, const char* name) {
  const auto it = object.find(name);
  return it != object.end() && it->is_string() ? it->get<std::string>() : "";
}

std::vector<LearnerLayout> LayoutsFrom(const Json& root) {
  std::vector<LearnerLayout> out;
  const auto layouts = root.find("learner_layouts");
  if (layouts == root.end() || !layouts->is_array()) return out;
  for (const Json& layout : *layouts) {
    if (!layout.is_object()) continue;
    out.push_back({static_cast<int64_t>(NumberOf(layout, "since")),
                   static_cast<int>(NumberOf(layout, "ranks")),
                   static_cast<int>(NumberOf(layout, "threads"))});
  }
  return out;
}

FlagValues FlagsFrom(const Json& root) {
  FlagValues out;
  const auto flags = root.find("flags");
  if (flags == root.end() || !flags->is_object()) return out;
  for (const auto& [name, values] : flags->items()) {
    std::vector<std::string>& texts = out[name];
    for (const Json& value : values) {
      if (value.is_string()) texts.push_back(value.get<std::string>());
    }
  }
  return out;
}

}  // namespace

const LearnerLayout* LayoutAt(const std::vector<LearnerLayout>& layouts, int64_t unix_seconds) {
  const LearnerLayout* out = nullptr;
  for (const LearnerLayout& layout : layouts) {
    if (layout.since <= unix_seconds) out = &layout;
  }
  return out;
}

std::string LayoutDifference(const std::vector<LearnerLayout>& layouts, int64_t recorded_at) {
  const LearnerLayout* then = LayoutAt(layouts, recorded_at);
  if (then == nullptr) return "";
  const LearnerLayout& now = layouts.back();
  if (then->ranks == now.ranks && then->threads == now.threads) return "";
  const auto shown = [](const LearnerLayout& l) {
    return absl::StrCat(l.ranks, l.ranks == 1 ? " rank" : " ranks", " with ", l.threads,
                        l.threads == 1 ? " thread" : " threads");
  };
  return absl::StrCat(
      "the learner had ", shown(*then), " when it was recorded and has ", shown(now),
      " now: results differ from the first step on. The same layout: `sluice up --learner-ranks ",
      then->ranks, " --threads ", then->threads, "`");
}

std::string SayUncleanStop(const std::vector<UncleanEnd>& unclean) {
  std::string out = "stopped, but not in order:";
  bool learner = false;
  for (const UncleanEnd& end : unclean) {
    absl::StrAppend(&out, end == unclean.front() ? " " : "; ", end.name, ": ", end.how);
    learner = learner || absl::StartsWith(end.name, "learner");
  }
  if (learner) {
    absl::StrAppend(
        &out,
        ". The learner may have missed its last checkpoint: the steps after the one before are done "
        "again when the job goes on");
  }
  return out;
}

absl::Status WriteSupervisorRecord(const std::string& state, const SupervisorRecord& record) {
  auto list = Json::array();
  for (const RecordedProcess& p : record.processes) {
    list.push_back({{"name", p.name},
                    {"pid", p.identity.pid},
                    {"start_ticks", p.identity.start_ticks},
                    {"boot_id", p.identity.boot_id}});
  }
  auto unclean = Json::array();
  for (const UncleanEnd& end : record.unclean) unclean.push_back({{"name", end.name}, {"how", end.how}});
  auto layouts = Json::array();
  for (const LearnerLayout& l : record.layouts)
    layouts.push_back({{"since", l.since}, {"ranks", l.ranks}, {"threads", l.threads}});
  const Json root = {{"supervisor_pid", record.self},
                     {"gang_epochs", record.gang_epochs},
                     {"learner_ranks", record.learner_ranks},
                     {"stop_seconds", record.stop_seconds},
                     {"stop_until", record.stop_until},
                     {"flags", record.flags},
                     {"learner_layouts", layouts},
                     {"stopped", record.stopped},
                     {"unclean", unclean},
                     {"processes", list}};
  return WriteFileAtomically(PathOf(state), root.dump(2) + "\n");
}

absl::StatusOr<SupervisorRecord> ReadSupervisorRecord(const std::string& state) {
  SLUICE_ASSIGN_OR_RETURN(const std::string text, ReadFile(PathOf(state), kMaxRecordBytes));
  const Json root = Json::parse(text, nullptr, /*allow_exceptions=*/false);
  if (!root.is_object() || !root.contains("processes") || !root["processes"].is_array()) {
    return absl::InvalidArgumentError(absl::StrCat(PathOf(state), " is malformed"));
  }
  SupervisorRecord out;
  out.self = static_cast<int64_t>(NumberOf(root, "supervisor_pid"));
  if (const auto it = root.find("gang_epochs"); it != root.end() && it->is_array()) {
    for (const Json& epoch : *it)
      out.gang_epochs.push_back(epoch.is_number_integer() ? epoch.get<int64_t>() : 0);
  } else {
    out.gang_epochs = {static_cast<int64_t>(NumberOf(root, "gang_epoch"))};  // of a program with one gang
  }
  out.learner_ranks = static_cast<int>(NumberOf(root, "learner_ranks"));
  if (const auto it = root.find("stop_seconds"); it != root.end() && it->is_number()) {
    out.stop_seconds = std::clamp(it->get<double>(), 0.0, kMaxStopSeconds);
  }
  out.stop_until = static_cast<int64_t>(NumberOf(root, "stop_until"));
  out.flags = FlagsFrom(root);
  out.layouts = LayoutsFrom(root);
  out.stopped = root.value("stopped", Json()) == true;
  if (const auto it = root.find("unclean"); it != root.end() && it->is_array()) {
    for (const Json& end : *it) {
      if (end.is_object()) out.unclean.push_back({TextOf(end, "name"), TextOf(end, "how")});
    }
  }
  for (const Json& p : root["processes"]) {
    if (!p.is_object()) continue;
    out.processes.push_back(
        {TextOf(p, "name"),
         {static_cast<pid_t>(NumberOf(p, "pid")), NumberOf(p, "start_ticks"), TextOf(p, "boot_id")}});
  }
  return out;
}

}  // namespace sluice::cli
