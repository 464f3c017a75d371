#include "reward/sandbox/self_test.h"

namespace sluice {

std::vector<SandboxProperty> TestSandbox(Sandbox& sandbox, const ControlGroups& groups) {
  using enum CgroupController;
  std::vector<SandboxProperty> properties;
  for (const auto& [name, controller] :
       {std::pair{"memory_limit", kMemory}, std::pair{"process_limit", kPids},
        std::pair{"cpu_accounting", kCpu}}) {
    const bool has = groups.Has(controller);
    properties.push_back({name, has, has ? "" : groups.why()});
  }
  RunRequest request;
  request.python_source = "print('ready')";
  bool ran = false;
  std::string error;
  auto box = sandbox.Open(absl::Now() + absl::Seconds(20));
  if (!box.ok()) error = std::string(box.status().message());
  if (box.ok()) {
    auto run = (*box)->Start(request);
    if (!run.ok()) error = std::string(run.status().message());
    if (run.ok()) {
      const RunResult result = (*run)->Wait();
      ran = result.end == RunEnd::kExited && result.output == "ready\n";
      error = result.error + result.error_output;
    }
  }
  properties.push_back({"namespaces", ran, ran ? "" : error});
  return properties;
}

}  // namespace sluice
