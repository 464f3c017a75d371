// sluice watch: a job as it goes.
#include <sys/ioctl.h>
#include <unistd.h>

#include <iostream>

#include "CLI/CLI.hpp"
#include "services/cli/command.h"
#include "services/cli/connection.h"
#include "services/cli/exit_code.h"
#include "services/cli/panel.h"
#include "services/cli/screen.h"

namespace sluice::cli {
namespace {

struct WatchOptions {
  ConnectionOptions connection;
  std::string job;
  bool json = false;
};

int Watch(const WatchOptions& o) {
  Screen screen(std::cout, o.json ? Screen::Kind::kLines : Screen::KindOf(STDOUT_FILENO));
  StepHistory history;
  const auto ended = FollowJob(o.connection, o.job, absl::Minutes(5), [&](const v1::WatchJobResponse& state) {
    if (o.json) {
      std::cout << ToJson(state, /*pretty=*/false) << std::endl;
      return true;
    }
    history.Add(state.job().last_step());
    screen.Show(state, history);
    return true;
  });
  if (!ended.ok()) return Report(ended.status());
  return ended->state() == v1::SUCCEEDED ? kDone : kFailed;
}

}  // namespace

void AddWatchCommand(CommandLine& line) {
  line.Add<WatchOptions>(
      "watch",
      "Shows a job until it has ended: a panel on a terminal, one line for each change elsewhere.\n"
      "Exit code 0 when the job succeeded, 1 when it failed or was cancelled.",
      [](CLI::App& command, WatchOptions& o) {
        command.add_option("JOB", o.job, "The job's name")->required();
        command.add_flag("--json", o.json, "One WatchJobResponse as JSON a line");
        AddConnectionOptions(command, o.connection);
      },
      Watch);
}

}  // namespace sluice::cli
