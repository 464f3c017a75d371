# form: stdio
# tests: [{"stdin": "2 3\n4 5\n", "expected_stdout": "6\n20"}]
for line in open(0):
    a, b = map(int, line.split())
    print(a * b)
