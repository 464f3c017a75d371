# form: stdio
# tests: [{"stdin": "", "expected_stdout": "a-b-c\nend"}]
import sys
print("a", "b", "c", sep="-", end="\n", flush=True)
sys.stdout.flush()
sys.stdout.write("end")
