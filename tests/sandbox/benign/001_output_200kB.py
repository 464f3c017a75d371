# form: stdio
# tests: [{"stdin": "", "expected_repeat": [20000, "0123456789"]}]
import sys
sys.stdout.write("0123456789" * 20000)
