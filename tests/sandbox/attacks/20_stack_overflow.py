sys.setrecursionlimit(1 << 30)


class Deep:
    def __getattr__(self, name):
        return getattr(self, name + "x" if len(name) < 4 else name)


def deep(f):
    return repr(f)


value = []
for _ in range(10000000):
    value = [value]
repr(value)
Deep().x
