# form: asserts
# tests: {"setup": "", "asserts": ["assert length(3, 4) == 5.0", "assert same() is True"]}
import functools
import math


@functools.total_ordering
class Vector:
    def __init__(self, x, y):
        self.x, self.y = x, y

    def __add__(self, other):
        return Vector(self.x + other.x, self.y + other.y)

    def __eq__(self, other):
        return (self.x, self.y) == (other.x, other.y)

    def __lt__(self, other):
        return abs(self) < abs(other)

    def __abs__(self):
        return math.hypot(self.x, self.y)


def length(x, y):
    return abs(Vector(x, 0) + Vector(0, y))


def same():
    return Vector(1, 2) == Vector(1, 2) and Vector(0, 1) < Vector(5, 5)
