# Whatever dies must be of this run.
for target in (-1, os.getppid(), 1, 0, -os.getpgrp(), 2, 3, 4, 5):
    if os.fork() == 0:
        os.setpgid(0, 0) if target == 0 else None
        for number in (signal.SIGKILL, signal.SIGSTOP, signal.SIGTERM):
            try:
                os.kill(target, number)
            except OSError:
                pass
        os._exit(0)
import time

time.sleep(0.2)
print("done")
