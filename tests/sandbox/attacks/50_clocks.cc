#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/time.h>
#include <sys/timex.h>
#include <time.h>

#include "attempt.h"
int main() {
  AttemptApart("clock_settime", [] {
    timespec t{1, 0};
    return clock_settime(CLOCK_REALTIME, &t);
  });
  AttemptApart("settimeofday", [] {
    timeval t{1, 0};
    return settimeofday(&t, nullptr);
  });
  AttemptApart("adjtimex", [] {
    timex t{};
    t.modes = ADJ_FREQUENCY;
    return adjtimex(&t);
  });
  AttemptApart("clock_adjtime", [] {
    timex t{};
    t.modes = ADJ_OFFSET;
    return syscall(SYS_clock_adjtime, CLOCK_REALTIME, &t);
  });
  AttemptApart("PR_SET_TSC", [] { return prctl(PR_SET_TSC, PR_TSC_SIGSEGV); });
  AttemptApart("alarm clock", [] {
    timer_t timer;
    return timer_create(CLOCK_REALTIME_ALARM, nullptr, &timer);
  });
  puts("done: contained");
}
