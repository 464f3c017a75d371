# form: function
# tests: {"entry_point": "queens", "cases": [{"args": [6], "expected": 4}, {"args": [8], "expected": 92}]}
def queens(n, row=0, columns=0, left=0, right=0):
    if row == n:
        return 1
    count, free = 0, ~(columns | left | right) & ((1 << n) - 1)
    while free:
        bit = free & -free
        free ^= bit
        count += queens(n, row + 1, columns | bit, (left | bit) << 1, (right | bit) >> 1)
    return count
