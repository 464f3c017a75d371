# form: stdio
# tests: [{"stdin": "b a c a b a\n", "expected_stdout": "a 3\nb 2\nc 1"}]
from collections import Counter
for word, count in sorted(Counter(input().split()).items()):
    print(word, count)
