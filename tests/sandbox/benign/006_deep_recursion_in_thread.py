# form: stdio
# tests: [{"stdin": "50000\n", "expected_stdout": "1250025000"}]
import sys
import threading
sys.setrecursionlimit(1 << 20)
threading.stack_size(128 << 20)


def total(n):
    return 0 if n == 0 else n + total(n - 1)


def main():
    print(total(int(input())))


t = threading.Thread(target=main)
t.start()
t.join()
