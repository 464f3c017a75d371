# form: function
# tests: {"entry_point": "common", "cases": [{"args": ["abracadabra"], "expected": [["a", 5], ["b", 2], ["r", 2]]}]}
from collections import Counter, OrderedDict, defaultdict, deque, namedtuple


def common(text):
    index = defaultdict(list)
    for i, c in enumerate(text):
        index[c].append(i)
    Pair = namedtuple("Pair", "letter count")
    pairs = deque(Pair(c, len(p)) for c, p in index.items())
    counts = OrderedDict(sorted(pairs, key=lambda p: (-p.count, p.letter)))
    assert Counter(text) == dict(counts)
    return [[c, n] for c, n in list(counts.items())[:3]]
