# form: stdio
# tests: [{"stdin": "0.1 0.2\n", "expected_stdout": "0.3 0.30000000000000000000"}]
from decimal import Decimal, getcontext

getcontext().prec = 50
a, b = map(Decimal, input().split())
print(a + b, (a + b).quantize(Decimal(10) ** -20))
