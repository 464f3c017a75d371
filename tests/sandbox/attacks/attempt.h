// Included by attacks in C++: as attempt.py.
#pragma once

#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

inline void Attempt(const char* name, long result) {
  int code = errno;
  if (result < 0)
    printf("%s: %s\n", name, strerrorname_np(code));
  else
    printf("%s: ALLOWED %ld\n", name, result);
  fflush(stdout);
}

// In a child, because a filter may kill instead of refusing.
template <typename Action>
void AttemptApart(const char* name, Action action) {
  fflush(stdout);
  pid_t child = fork();
  if (child == 0) {
    Attempt(name, action());
    _exit(0);
  }
  int status = 0;
  waitpid(child, &status, 0);
  if (WIFSIGNALED(status)) printf("%s: SIG%s\n", name, sigabbrev_np(WTERMSIG(status)));
  fflush(stdout);
}
