# form: stdio
# tests: [{"stdin": "", "expected_stdout": "ok"}]
import sys
import warnings
warnings.warn("careful")
for i in range(5000):
    print("debug", i, file=sys.stderr)
print("ok")
