#include <sys/syscall.h>

#include "attempt.h"
int main() {
  AttemptApart("io_uring_setup", [] {
    char parameters[120] = {0};
    return syscall(425, 8, parameters);
  });
  AttemptApart("io_uring_enter", [] { return syscall(426, 0, 1, 0, 0, 0, 0); });
  AttemptApart("io_uring_register", [] { return syscall(427, 0, 0, 0, 0); });
  AttemptApart("io_setup", [] {
    unsigned long context = 0;
    return syscall(SYS_io_setup, 8, &context);
  });
  puts("done: contained");
}
