# form: function
# tests: {"entry_point": "squares", "cases": [{"args": [5], "expected": [0, 1, 4, 9, 16]}]}
from concurrent.futures import ThreadPoolExecutor


def squares(n):
    with ThreadPoolExecutor(max_workers=4) as pool:
        return list(pool.map(lambda x: x * x, range(n)))
