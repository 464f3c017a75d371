# form: stdio
# tests: [{"stdin": "x\ny\n", "expected_stdout": "1:x\n2:y"}]
import fileinput
for line in fileinput.input():
    print(f"{fileinput.lineno()}:{line.strip()}")
