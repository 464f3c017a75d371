# Leaves its parent, its session and its group, holds the output open and goes on writing after the program's end.
import time

if os.fork() == 0:
    os.setsid()
    if os.fork() == 0:
        for number in set(signal.Signals) - {signal.SIGKILL, signal.SIGSTOP}:
            try:
                signal.signal(number, signal.SIG_IGN)
            except (OSError, ValueError):
                pass
        while True:
            try:
                with open("result", "a") as f:
                    f.write("daemon\n")
            except OSError:
                pass
            time.sleep(0.01)
    os._exit(0)
time.sleep(0.1)
print("done")
sys.stdout.flush()
os._exit(0)
