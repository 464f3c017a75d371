# form: stdio
# tests: [{"stdin": "3\n1 2 3\n", "expected_stdout": "6"}, {"stdin": "1\n-5\n", "expected_stdout": "-5"}]
n = int(input())
print(sum(map(int, input().split())))
