# form: stdio
# tests: [{"stdin": "20000\n", "expected_stdout": "20000"}]
import sys
sys.setrecursionlimit(100000)


def depth(n):
    return 0 if n == 0 else 1 + depth(n - 1)


print(depth(int(input())))
