# form: stdio
# comparison: unordered
# tests: [{"stdin": "abc\n", "expected_stdout": "abc\nacb\nbac\nbca\ncab\ncba"}]
from itertools import permutations
for p in list(permutations(input()))[::-1]:
    print("".join(p))
