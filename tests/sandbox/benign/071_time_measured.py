# form: stdio
# tests: [{"stdin": "", "expected_stdout": "True True"}]
import time
start = time.perf_counter()
time.sleep(0.01)
print(time.perf_counter() - start >= 0.009, time.time() > 1.6e9)
