// What the interpreter calls through ctypes.
#include "reward/sandbox/jail/enclosure.h"

extern "C" {

static sluice::jail::PythonRun run;

// Serves the sandbox; returns in the processes that are to run Python source.
__attribute__((visibility("default"))) void sluice_jail_serve() {
  run = sluice::jail::Enclose(sluice::jail::kControlDescriptor);
}
__attribute__((visibility("default"))) const char* sluice_jail_source() { return run.source; }
__attribute__((visibility("default"))) unsigned long sluice_jail_source_bytes() { return run.bytes; }
}
