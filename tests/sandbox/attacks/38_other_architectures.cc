// The kernel's 32-bit and x32 doors, which a filter that knows only x86-64 leaves open.
#include <sys/mman.h>
#include <sys/syscall.h>

#include "attempt.h"
long Door32(int number, long a = 0, long b = 0, long c = 0) {
  long result = number;
  asm volatile("int $0x80" : "+a"(result) : "b"(a), "c"(b), "d"(c) : "memory", "r8", "r9", "r10", "r11");
  if (result >= 0) return result;
  errno = -result;
  return -1;
}
int main() {
  AttemptApart("i386 getpid", [] { return Door32(20); });
  AttemptApart("i386 socketcall", [] { return Door32(102, 1, 0); });
  AttemptApart("i386 keyctl", [] { return Door32(288, 0, -4, 1); });
  AttemptApart("i386 unshare", [] { return Door32(310, 0x10000000); });
  AttemptApart("x32 getpid", [] { return syscall(0x40000000 | SYS_getpid); });
  AttemptApart("x32 ptrace", [] { return syscall(0x40000000 | 521, 0, 0, 0, 0); });
  AttemptApart("x32 execve", [] { return syscall(0x40000000 | 520, 0, 0, 0); });
  puts("done: contained");
}
