// How a subcommand is declared: each file in commands/ adds its options to the application and says what to
// run when it was chosen. main runs it after parsing, so that no command runs inside the parser.
#pragma once

#include <functional>
#include <memory>
#include <string>
#include <utility>

#include "CLI/CLI.hpp"

namespace sluice::cli {

class CommandLine {
 public:
  explicit CommandLine(CLI::App& app) : app_(app) {}

  // The description's first line is in the list of commands, the others only in the command's own help.
  // `declare` adds options that write into the given Options; `run` gets them and returns the exit code.
  template <typename Options, typename Declare, typename Run>
  void Add(const std::string& name, const std::string& description, Declare declare, Run run) {
    auto options =
        std::make_shared<Options>();  // shared: the parser's callbacks and the run refer to the same
    const size_t line_end = description.find('\n');
    CLI::App* command = app_.add_subcommand(name, description.substr(0, line_end));
    if (line_end != std::string::npos) command->footer(description.substr(line_end + 1));
    declare(*command, *options);
    command->callback([this, options, run] { chosen_ = [options, run] { return run(*options); }; });
  }

  // Only after parsing chose a command.
  int Run() const { return chosen_(); }

 private:
  CLI::App& app_;
  std::function<int()> chosen_;
};

// In the order of the help: each declares the commands of one file.
void AddDemoCommand(CommandLine& line);
void AddUpCommands(CommandLine& line);      // up, down
void AddSubmitCommands(CommandLine& line);  // check, submit
void AddShowCommands(CommandLine& line);    // jobs, show, ledger, samples
void AddWatchCommand(CommandLine& line);
void AddControlCommands(CommandLine& line);  // pause, resume, cancel, checkpoints, export
void AddGenerateCommand(CommandLine& line);
void AddScoreCommand(CommandLine& line);

}  // namespace sluice::cli
