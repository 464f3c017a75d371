#include "services/cli/cluster.h"

#include "absl/strings/str_cat.h"
#include "core/base/file.h"
#include "core/base/status.h"
#include "nlohmann/json.hpp"

namespace sluice::cli {
namespace {

constexpr int64_t kMaxClusterBytes = 1 << 20;

absl::Status Malformed(const std::string& path, absl::string_view what) {
  return absl::InvalidArgumentError(absl::StrCat(path, ": ", what));
}

// A member of the right type, else false.
bool GetString(const nlohmann::json& object, const char* name, std::string& out) {
  const auto it = object.find(name);
  if (it == object.end() || !it->is_string()) return false;
  out = it->get<std::string>();
  return true;
}

bool GetInteger(const nlohmann::json& object, const char* name, int64_t& out) {
  const auto it = object.find(name);
  if (it == object.end() || !it->is_number_integer()) return false;
  out = it->get<int64_t>();
  return true;
}

}  // namespace

std::string ClusterPath(const std::string& state) { return absl::StrCat(state, "/cluster.json"); }

std::string SerializeCluster(const std::vector<ClusterProcess>& processes) {
  auto list = nlohmann::json::array();
  for (const ClusterProcess& p : processes) {
    list.push_back(
        {{"role", p.role}, {"index", p.index}, {"pid", p.pid}, {"grpc", p.grpc}, {"metrics", p.metrics}});
    if (!p.http.empty()) list.back()["http"] = p.http;
  }
  return nlohmann::json{{"processes", list}}.dump(2) + "\n";
}

absl::StatusOr<std::vector<ClusterProcess>> ParseCluster(absl::string_view json, const std::string& path) {
  const auto root = nlohmann::json::parse(json.begin(), json.end(), nullptr, /*allow_exceptions=*/false);
  if (!root.is_object()) return Malformed(path, "not a JSON object");
  const auto list = root.find("processes");
  if (list == root.end() || !list->is_array()) return Malformed(path, "has no list \"processes\"");
  std::vector<ClusterProcess> out;
  for (const auto& entry : *list) {
    ClusterProcess p;
    int64_t index = 0;
    if (!entry.is_object() || !GetString(entry, "role", p.role) || !GetInteger(entry, "index", index) ||
        !GetInteger(entry, "pid", p.pid) || !GetString(entry, "grpc", p.grpc) ||
        !GetString(entry, "metrics", p.metrics)) {
      return Malformed(path,
                       absl::StrCat("processes[", out.size(), "] lacks role, index, pid, grpc or metrics"));
    }
    p.index = static_cast<int>(index);
    GetString(entry, "http", p.http);
    out.push_back(std::move(p));
  }
  return out;
}

absl::StatusOr<std::vector<ClusterProcess>> ReadCluster(const std::string& state) {
  const std::string path = ClusterPath(state);
  SLUICE_ASSIGN_OR_RETURN(const std::string text, ReadFile(path, kMaxClusterBytes));
  return ParseCluster(text, path);
}

absl::StatusOr<std::string> FindCoordinator(const std::string& coordinator, const std::string& state) {
  if (!coordinator.empty()) return coordinator;
  const auto processes = ReadCluster(state);
  if (processes.ok()) {
    for (const ClusterProcess& p : *processes) {
      if (p.role == "coordinator") return p.grpc;
    }
  } else if (!absl::IsNotFound(processes.status())) {
    return processes.status();
  }
  return absl::UnavailableError(absl::StrCat("no coordinator in ", ClusterPath(state),
                                             "; start a fleet with `sluice up --state ", state,
                                             "`, or name one with --coordinator or --state"));
}

absl::StatusOr<ServiceAddress> ReadAddressFile(const std::string& path) {
  SLUICE_ASSIGN_OR_RETURN(const std::string text, ReadFile(path, kMaxClusterBytes));
  const auto root = nlohmann::json::parse(text, nullptr, /*allow_exceptions=*/false);
  ServiceAddress out;
  if (!root.is_object() || !GetString(root, "role", out.role) || !GetString(root, "name", out.name) ||
      !GetInteger(root, "pid", out.pid) || !GetString(root, "grpc", out.grpc) ||
      !GetString(root, "metrics", out.metrics)) {
    return Malformed(path, "lacks role, name, pid, grpc or metrics");
  }
  GetString(root, "http", out.http);
  return out;
}

}  // namespace sluice::cli
