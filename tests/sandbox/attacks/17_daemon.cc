#include <signal.h>
#include <stdio.h>
#include <sys/prctl.h>
#include <unistd.h>
int main() {
  for (int i = 0; i < 8; i++) {
    if (fork() == 0) {
      setsid();
      if (fork() == 0) {
        for (int s = 1; s < 65; s++) signal(s, SIG_IGN);
        prctl(PR_SET_PDEATHSIG, 0);
        for (;;) pause();
      }
      _exit(0);
    }
  }
  puts("done");
}
