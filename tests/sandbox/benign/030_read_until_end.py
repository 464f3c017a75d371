# form: stdio
# tests: [{"stdin": "1\n2\n3", "expected_stdout": "3"}, {"stdin": "", "expected_stdout": "0"}]
count = 0
while True:
    try:
        input()
    except EOFError:
        break
    count += 1
print(count)
