# form: stdio
# tests: [{"stdin": "5 6\n", "expected_stdout": "30"}]
import os
a, b = map(int, os.read(0, 1 << 16).split())
os.write(1, str(a * b).encode())
