# form: asserts
# tests: {"setup": "", "asserts": ["assert run([1, 2, 3]) == 6", "assert run([]) == 0", "assert names() == ['Base', 'Left', 'Right', 'Both']"]}
import abc


class Base(abc.ABC):
    @abc.abstractmethod
    def add(self, x): ...


class Left(Base):
    total = 0

    def add(self, x):
        self.total += x


class Right(Base):
    @property
    def value(self):
        return self.total


class Both(Left, Right):
    pass


def run(xs):
    both = Both()
    for x in xs:
        both.add(x)
    return both.value


def names():
    return [c.__name__ for c in (Base, Left, Right, Both)]
