# form: asserts
# tests: {"setup": "", "asserts": ["assert first([1, 2]) == 1", "assert first([]) is None", "assert pick({'a': 1}, 'a') == 1"]}
from typing import Callable, Dict, Generic, Iterable, List, Optional, Protocol, Sequence, Tuple, TypeVar, Union

T = TypeVar("T")


class Named(Protocol):
    name: str


class Stack(Generic[T]):
    def __init__(self) -> None:
        self.items: List[T] = []


def first(xs: Sequence[T]) -> Optional[T]:
    return xs[0] if xs else None


def pick(d: Dict[str, Union[int, float]], key: str) -> Union[int, float]:
    return d[key]
