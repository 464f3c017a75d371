# form: stdio
# comparison: exact
# tests: [{"stdin": "3\n", "expected_stdout": "  *\n * *\n*   *\n"}]
n = int(input())
for i in range(n):
    print(" " * (n - 1 - i) + ("*" if i == 0 else "*" + " " * (2 * i - 1) + "*"))
