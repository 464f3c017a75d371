# form: stdio
# tests: [{"stdin": "a b\nc\n\nd e f", "expected_stdout": "2 1 0 3"}]
import sys
counts = []
for line in sys.stdin:
    counts.append(len(line.split()))
print(*counts)
