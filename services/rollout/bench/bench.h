// `sluice bench engine`: how fast the engine is on a model, measured in this process. It is a mode of
// sluice-rollout because only that has the engine; the command `sluice` hands over to it.
#pragma once

namespace sluice::bench {

// argv[0] is shown as the program's name. The table or, last on standard output, one line of JSON; progress
// on standard error. Returns the exit code: 0 done, 1 failed, 2 wrong usage or input.
int RunBench(int argc, char** argv);

}  // namespace sluice::bench
