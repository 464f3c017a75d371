// A core pattern that pipes to a program runs that program on the host, whatever the size limit; only a limit
// of exactly 1 byte, or a process that cannot be dumped, stops it.
#include <stdlib.h>
#include <sys/prctl.h>
#include <sys/resource.h>

#include "attempt.h"
int main() {
  rlimit limit{};
  getrlimit(RLIMIT_CORE, &limit);
  bool undumpable = prctl(PR_GET_DUMPABLE) == 0;
  printf("core limit: %s\n",
         (limit.rlim_cur == 1 && limit.rlim_max == 1) || undumpable ? "contained" : "BREACH");
  rlimit more{RLIM_INFINITY, RLIM_INFINITY};
  AttemptApart("raise the core limit", [&] { return setrlimit(RLIMIT_CORE, &more); });
  fflush(stdout);
  abort();
}
