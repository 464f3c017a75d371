#include <fcntl.h>
#include <sys/ioctl.h>

#include "attempt.h"
int main() {
  AttemptApart("open /dev/tty", [] { return open("/dev/tty", O_RDWR); });
  AttemptApart("open /dev/console", [] { return open("/dev/console", O_RDWR | O_NONBLOCK); });
  AttemptApart("open /dev/tty0", [] { return open("/dev/tty0", O_RDWR | O_NONBLOCK); });
  AttemptApart("open /dev/ptmx", [] { return open("/dev/ptmx", O_RDWR | O_NOCTTY); });
  for (int descriptor = 0; descriptor < 3; descriptor++) {
    AttemptApart("TIOCSTI", [&] { return ioctl(descriptor, TIOCSTI, "x"); });
    AttemptApart("TIOCSTI with high bits", [&] { return ioctl(descriptor, TIOCSTI | (1UL << 32), "x"); });
    AttemptApart("TIOCLINUX", [&] { return ioctl(descriptor, TIOCLINUX, "\x03"); });
    AttemptApart("TIOCSCTTY", [&] { return ioctl(descriptor, TIOCSCTTY, 1); });
  }
  puts("done: contained");
}
