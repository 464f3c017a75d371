# form: function
# tests: {"entry_point": "distance", "cases": [{"args": ["kitten", "sitting"], "expected": 3}, {"args": ["", "abc"], "expected": 3}]}
def distance(a, b):
    row = list(range(len(b) + 1))
    for i, x in enumerate(a, 1):
        last, row[0] = row[0], i
        for j, y in enumerate(b, 1):
            last, row[j] = row[j], min(row[j] + 1, row[j - 1] + 1, last + (x != y))
    return row[-1]
