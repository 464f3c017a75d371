// How a subcommand is declared: each file in commands/ adds its options to the application and says what to
// run when it was chosen. main runs it after parsing, so that no command runs inside the parser.
#pragma once

#include <algorithm>
#include <functional>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "CLI/CLI.hpp"
#include "services/cli/message/suggestion.h"

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

  bool Has(const std::string& name) const {
    const std::vector<std::string> names = Names();
    return std::find(names.begin(), names.end(), name) != names.end();
  }
  // What to say of a name that is no command.
  std::string Unknown(const std::string& name) const {
    return UnknownCommand(name, Names()) + "; sluice --help lists them";
  }

  // Only after parsing chose a command.
  int Run() const { return chosen_(); }

 private:
  std::vector<std::string> Names() const {
    std::vector<std::string> out;
    for (const CLI::App* command : app_.get_subcommands(nullptr)) out.push_back(command->get_name());
    return out;
  }

  CLI::App& app_;
  std::function<int()> chosen_;
};

// In the order of the help: each declares the commands of one file.
void AddDemoCommand(CommandLine& line);
void AddUpCommands(CommandLine& line);      // up, down
void AddSubmitCommands(CommandLine& line);  // check, submit
void AddShowCommands(CommandLine& line);    // jobs, show, ledger, samples
void AddWatchCommand(CommandLine& line);
void AddRecordCommands(CommandLine& line);  // attempts, quarantine
void AddReplayCommand(CommandLine& line);
void AddControlCommands(CommandLine& line);  // pause, resume, cancel, checkpoints, export
void AddGenerateCommand(CommandLine& line);
void AddScoreCommand(CommandLine& line);
void AddRewardCommand(CommandLine& line);
void AddChatCommand(CommandLine& line);
void AddServeCommand(CommandLine& line);
void AddBenchCommand(CommandLine& line);

}  // namespace sluice::cli
