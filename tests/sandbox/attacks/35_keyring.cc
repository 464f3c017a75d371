#include <sys/syscall.h>

#include "attempt.h"
int main() {
  AttemptApart("add_key", [] { return syscall(SYS_add_key, "user", "sluice_attack", "x", 1, -4); });
  AttemptApart("request_key", [] { return syscall(SYS_request_key, "user", "sluice_attack", 0, -4); });
  AttemptApart("keyctl get", [] { return syscall(SYS_keyctl, 0, -4, 1); });
  AttemptApart("keyctl join", [] { return syscall(SYS_keyctl, 1, "sluice_attack"); });
  puts("done: contained");
}
