# form: stdio
# tests: [{"stdin": "1 2\n3 4\n", "expected_stdout": "10"}]
import sys
data = sys.stdin.buffer.read().split()
sys.stdout.buffer.write(b"%d\n" % sum(map(int, data)))
