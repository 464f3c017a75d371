# form: stdio
# tests: [{"stdin": "40000\n", "expected_repeat": [40000, "hello\n"]}]
for _ in range(int(input())):
    print("hello")
