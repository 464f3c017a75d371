# form: function
# tests: {"entry_point": "at", "cases": [{"args": [10], "expected": 55}, {"args": [20], "expected": 6765}]}
table = [0, 1]
while len(table) < 1000:
    table.append(table[-1] + table[-2])


def at(n):
    return table[n]


if __name__ == "__main__":
    print(at(5))
