# form: stdio
# tests: [{"stdin": "3.14159 255\n", "expected_stdout": "3.14|  255|0xff|11111111|3.1e+00|255,000"}]
a, b = input().split()
x, n = float(a), int(b)
print(f"{x:.2f}|{n:5d}|{n:#x}|{n:b}|{x:.1e}|{n * 1000:,}")
