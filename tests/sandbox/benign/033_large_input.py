# form: stdio
# tests: [{"stdin_repeat": [100000, "7\n"], "expected_stdout": "700000"}]
import sys
print(sum(int(x) for x in sys.stdin))
