// One run: pid 1 of a fresh pid namespace, which reaps, and below it the candidate's program.
#pragma once

#include <sys/types.h>

#include "reward/sandbox/jail/message.h"
#include "reward/sandbox/jail/protocol.h"

namespace sluice::jail {

// What the interpreter is to run in a process that has become a candidate's.
struct PythonRun {
  bool valid = false;
  const char* source = nullptr;
  size_t bytes = 0;
};

// What pid 1, or the program's process before it became the candidate's, tells the slot through a pipe.
struct Report {
  OutcomeKind kind;
  int32_t value;
  char step[120];
};

struct RunStart {
  const RunOrder* order;
  const Descriptors* fds;  // standard input, output, error, payload, channel
  uint32_t candidate_id, without;
  int ruleset, report;  // the report pipe's writing end
  int work;             // the working directory; -1: /work
};

// Starts pid 1 of a new tree: its id in the caller's namespace and a pidfd; -1: errno. `python` becomes valid
// in the one process that returns as the candidate's.
pid_t StartTree(const RunStart& start, int& pidfd, PythonRun& python);

}  // namespace sluice::jail
