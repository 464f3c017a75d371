// One serving process: a gRPC server with health and reflection, Prometheus metrics on HTTP, an executor, and
// an orderly stop. Usage in a service's main: services/host/run.h; in tests: Create, AddService, Start,
// Shutdown. Public methods are to be called from one thread, except RequestStop.
#pragma once

#include <map>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/time/time.h"
#include "grpcpp/grpcpp.h"
#include "prometheus/exposer.h"
#include "prometheus/registry.h"
#include "services/host/process_metrics.h"
#include "services/host/server_options.h"
#include "services/rpc/channel.h"
#include "services/rpc/executor.h"

namespace sluice {

class Host {
 public:
  // Checks the options and starts the metrics endpoint. FAILED_PRECONDITION names an address that is in use.
  static absl::StatusOr<std::unique_ptr<Host>> Create(std::string role, ServerOptions options,
                                                      const ExecutorOptions& executor = {});
  // Shuts down when that was not done.
  ~Host();

  const std::string& role() const { return role_; }
  const ServerOptions& options() const { return options_; }
  const std::string& name() const { return options_.name; }
  prometheus::Registry& registry() { return *registry_; }
  Executor& executor() { return *executor_; }

  // Before Start. Borrowed: must outlive Shutdown.
  void AddService(grpc::Service* service) { services_.push_back(service); }
  // Before Start. Another address of the process in its address file, as `name`.
  void AddAddress(std::string name, std::string address) {
    more_addresses_[std::move(name)] = std::move(address);
  }
  // Binds, serves, turns health to SERVING and writes the address file.
  absl::Status Start();
  // "127.0.0.1:41234", with the real port. Valid after Start.
  const std::string& address() const { return address_; }
  // What others are told. Valid after Start.
  const std::string& advertised() const { return options_.advertise.empty() ? address_ : options_.advertise; }
  // Valid after Create.
  const std::string& metrics_address() const { return metrics_address_; }
  // For calls without a network, in tests.
  grpc::Server* server() { return server_.get(); }
  // Health of the whole server.
  void SetServing(bool serving);

  // Returns when RequestStop was called. Until then is what a service is for: this wait alone has no limit.
  void Wait();
  // Thread-safe.
  void RequestStop();
  // Health NOT_SERVING, no new calls, `grace` for calls under way, then they are cancelled; then the executor
  // drains.
  void Shutdown(absl::Duration grace = absl::Seconds(5));

 private:
  Host(std::string role, ServerOptions options, const ExecutorOptions& executor);
  absl::Status StartMetrics();
  void StopMetrics();
  absl::Status WriteAddressFile() const;

  const std::string role_;
  ServerOptions options_;
  std::shared_ptr<prometheus::Registry> registry_;   // shared: the exposer holds a weak reference
  std::shared_ptr<ProcessMetrics> process_metrics_;  // likewise
  std::unique_ptr<Executor> executor_;
  std::unique_ptr<prometheus::Exposer> exposer_;
  std::vector<grpc::Service*> services_;
  std::unique_ptr<grpc::Server> server_;
  std::string address_, metrics_address_;
  std::map<std::string, std::string> more_addresses_;  // by name
  int stop_event_ = -1;                                // eventfd
};

}  // namespace sluice
