// Which processes a fleet on one machine has, and how each is started. Pure.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace sluice::cli {

struct FleetShape {
  int rollout_workers = 2, reward_workers = 1;
  int learner_ranks = 1, learner_gangs = 1;  // of each gang; gangs, each with a job of its own
  int threads = 0;             // of each rollout worker and learner rank; 0: the machine's, shared out
  std::string device = "cpu";  // of the rollout workers
  bool http = false;           // rollout workers serve the OpenAI API, each on a port of its own
  std::vector<std::string> scorers = {};  // NAME=HOST:PORT, the other reward services that reward workers ask
  bool allow_weaker_sandbox = false;      // of the reward workers
  double stop_seconds = 30;               // from the order to stop until everything has ended
  double hang_seconds = 60;               // a process that does not answer for so long is killed; 0: never
  std::optional<uint64_t> keep_samples_bytes, keep_free_bytes;  // of the coordinator; absent: its defaults
  friend bool operator==(const FleetShape&, const FleetShape&) = default;
};

struct FleetProcess {
  std::string role;  // "coordinator", "rollout", "reward", "learner"
  int index = 0;     // of the role; a learner's rank
  std::string name;  // "rollout-0"; the coordinator's is "coordinator"
  int gang = 0;      // of a learner
  friend bool operator==(const FleetProcess&, const FleetProcess&) = default;
};

// The name of a gang's first rank is the gang's: it stands for its folder, which has checkpoints.
// The coordinator first, then the learners' ranks, rollout and reward workers.
std::vector<FleetProcess> ProcessesOf(const FleetShape& shape);
// Threads of one rollout worker or learner rank on a machine with so many cores; at least 1.
int ThreadsPerProcess(const FleetShape& shape, int cores);

// The stop in order: workers hand back what they have, the learner makes a checkpoint, the coordinator is
// last to know of it. Each stage ends when this share of the fleet's stop_seconds has passed since the order,
// at the latest.
struct StopStage {
  std::vector<std::string> roles;
  double until;
};
const std::vector<StopStage>& StopStages();
// What a process of the role is given of the fleet's time.
double StopSecondsOf(const std::string& role, double stop_seconds);

// Where a process of a state directory keeps its things.
std::string LogPath(const std::string& state, const FleetProcess& member);
std::string AddressPath(const std::string& state, const FleetProcess& member);
// Where it says that its stop takes longer.
std::string StopPath(const std::string& state, const FleetProcess& member);

// What the command line of one start is made of.
struct StartContext {
  std::string binary_folder, state;
  std::string listen = "127.0.0.1:0", metrics_listen = "127.0.0.1:0";
  std::string coordinator;  // address; not for the coordinator
  std::string rendezvous;   // address of the learner's rank 0; empty for rank 0 itself before it has one
  int world = 1;            // learner ranks
  int64_t gang_epoch = 0;
  int threads = 1;
  std::string device = "cpu";             // of a rollout worker
  std::string http_port;                  // of a rollout worker; empty: no HTTP
  std::vector<std::string> scorers = {};  // of a reward worker
  bool allow_weaker_sandbox = false;      // of a reward worker
  double stop_seconds = 30;               // of the fleet
  std::optional<uint64_t> keep_samples_bytes = {}, keep_free_bytes = {};  // of the coordinator
};
std::vector<std::string> CommandOf(const FleetProcess& member, const StartContext& context);

}  // namespace sluice::cli
