# form: stdio
# tests: [{"stdin": "1 2\r\n3\r\n", "expected_stdout": "6\r\n"}]
import sys
print(sum(map(int, sys.stdin.read().split())))
