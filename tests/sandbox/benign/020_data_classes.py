# form: asserts
# tests: {"setup": "", "asserts": ["assert area(3, 4) == 12", "assert area(0, 5) == 0", "assert name() == 'Box(a=1, b=2)'"]}
from dataclasses import dataclass, field
from typing import List


@dataclass(order=True)
class Box:
    a: int
    b: int
    notes: List[str] = field(default_factory=list, repr=False)

    def area(self) -> int:
        return self.a * self.b


def area(a, b):
    return Box(a, b).area()


def name():
    return repr(Box(1, 2))
