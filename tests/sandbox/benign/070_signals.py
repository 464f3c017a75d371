# form: stdio
# tests: [{"stdin": "", "expected_stdout": "alarm"}]
import signal
import time


def ring(number, frame):
    raise TimeoutError


signal.signal(signal.SIGALRM, ring)
signal.setitimer(signal.ITIMER_REAL, 0.02)
try:
    while True:
        time.sleep(0.001)
except TimeoutError:
    print("alarm")
