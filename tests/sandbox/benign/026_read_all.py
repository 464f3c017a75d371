# form: stdio
# tests: [{"stdin": "1 2\n3\n\n4", "expected_stdout": "10"}]
import sys
print(sum(map(int, sys.stdin.read().split())))
