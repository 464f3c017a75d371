# form: function
# tests: {"entry_point": "ways", "cases": [{"args": [[1, 5, 10, 25], 100], "expected": 242}]}
from functools import lru_cache, reduce


def ways(coins, total):
    @lru_cache(maxsize=None)
    def count(i, rest):
        if rest == 0:
            return 1
        if rest < 0 or i == len(coins):
            return 0
        return count(i, rest - coins[i]) + count(i + 1, rest)

    return reduce(lambda a, b: a + b, [count(0, total)])
