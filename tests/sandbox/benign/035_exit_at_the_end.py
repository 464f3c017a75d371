# form: stdio
# tests: [{"stdin": "4\n", "expected_stdout": "16"}]
import sys
print(int(input()) ** 2)
sys.exit(0)
