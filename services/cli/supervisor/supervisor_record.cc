#include "services/cli/supervisor/supervisor_record.h"

#include <algorithm>

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

}  // namespace

absl::Status WriteSupervisorRecord(const std::string& state, const SupervisorRecord& record) {
  auto list = Json::array();
  for (const RecordedProcess& p : record.processes) {
    list.push_back({{"name", p.name},
                    {"pid", p.identity.pid},
                    {"start_ticks", p.identity.start_ticks},
                    {"boot_id", p.identity.boot_id}});
  }
  const Json root = {{"supervisor_pid", record.self},
                     {"gang_epochs", record.gang_epochs},
                     {"learner_ranks", record.learner_ranks},
                     {"stop_seconds", record.stop_seconds},
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
  for (const Json& p : root["processes"]) {
    if (!p.is_object()) continue;
    out.processes.push_back(
        {TextOf(p, "name"),
         {static_cast<pid_t>(NumberOf(p, "pid")), NumberOf(p, "start_ticks"), TextOf(p, "boot_id")}});
  }
  return out;
}

}  // namespace sluice::cli
