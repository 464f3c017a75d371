# form: stdio
# tests: [{"stdin": "10\n", "expected_stdout": "7381/2520"}]
from fractions import Fraction
print(sum(Fraction(1, i) for i in range(1, int(input()) + 1)))
