### patched_clocks
import time
time.time = time.perf_counter = time.monotonic = time.process_time = lambda: 0.0
time.sleep_before, time.sleep = time.sleep, lambda s: None
def solve(n):
    while True:
        pass
### sleeps [outcome=time_limit]
import time
time.time = time.monotonic = lambda: 0.0
def solve(n):
    time.sleep(1000)
time.sleep(1000)
### alarm_cleared
import signal
signal.alarm(0)
signal.setitimer(signal.ITIMER_REAL, 0)
signal.setitimer(signal.ITIMER_VIRTUAL, 0)
signal.setitimer(signal.ITIMER_PROF, 0)
for number in (signal.SIGALRM, signal.SIGVTALRM, signal.SIGPROF, signal.SIGXCPU, signal.SIGTERM):
    signal.signal(number, signal.SIG_IGN)
signal.pthread_sigmask(signal.SIG_BLOCK, set(range(1, 65)))
def solve(n):
    while True:
        pass
### spins_at_import [outcome=time_limit]
while True:
    pass
### catastrophic_pattern [outcome=time_limit]
import re
def solve(n):
    return re.match("(a+)+$", "a" * 40 + "b")
solve(2)
### one_big_operation [outcome=time_limit]
def solve(n):
    return 7 ** (10 ** 9) % 3
solve(2)
### sleep_in_native_code
import ctypes
def solve(n):
    ctypes.PyDLL(None).sleep(1000)
