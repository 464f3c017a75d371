# form: stdio
# tests: [{"stdin": "a\nb\nc\n", "expected_stdout": "c\nb\na"}]
import os
import sys
import tempfile

with tempfile.NamedTemporaryFile("w+", delete=True) as f:
    f.write(sys.stdin.read())
    f.seek(0)
    lines = f.read().split()
with tempfile.TemporaryDirectory() as d:
    path = os.path.join(d, "out.txt")
    with open(path, "w") as f:
        f.write("\n".join(reversed(lines)))
    print(open(path).read())
