// The one command: sluice.
#include <csignal>
#include <iostream>
#include <string>

#include "CLI/CLI.hpp"
#include "services/cli/command.h"
#include "services/cli/exit_code.h"

int main(int argc, char** argv) {
  std::signal(SIGPIPE, SIG_IGN);
  CLI::App app(
      "Post-trains language models with reinforcement learning, as a set of services.\n"
      "Exit codes: 0 done, 1 the job or some rows failed, 2 wrong usage or input, 3 a service cannot be "
      "reached, 130 interrupted.");
  app.set_version_flag("--version", std::string("sluice " SLUICE_VERSION));
  app.require_subcommand(1);
  app.failure_message(CLI::FailureMessage::simple);
  sluice::cli::CommandLine line(app);
  sluice::cli::AddDemoCommand(line);
  sluice::cli::AddUpCommands(line);
  sluice::cli::AddSubmitCommands(line);
  sluice::cli::AddShowCommands(line);
  sluice::cli::AddWatchCommand(line);
  sluice::cli::AddRecordCommands(line);
  sluice::cli::AddReplayCommand(line);
  sluice::cli::AddControlCommands(line);
  sluice::cli::AddGenerateCommand(line);
  sluice::cli::AddScoreCommand(line);
  sluice::cli::AddRewardCommand(line);
  sluice::cli::AddChatCommand(line);
  sluice::cli::AddServeCommand(line);
  sluice::cli::AddBenchCommand(line);
  if (argc > 1 && argv[1][0] != '-' && !line.Has(argv[1])) {
    return sluice::cli::Report(absl::InvalidArgumentError(line.Unknown(argv[1])));
  }
  try {
    app.parse(argc, argv);
  } catch (const CLI::ParseError& error) {
    return app.exit(error) == 0 ? sluice::cli::kDone : sluice::cli::kUsage;
  }
  return line.Run();
}
