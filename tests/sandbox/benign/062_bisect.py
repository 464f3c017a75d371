# form: function
# tests: {"entry_point": "rising", "cases": [{"args": [[3, 1, 4, 1, 5, 9, 2, 6]], "expected": 4}]}
import bisect


def rising(xs):
    tails = []
    for x in xs:
        i = bisect.bisect_left(tails, x)
        tails[i:i + 1] = [x]
    return len(tails)
