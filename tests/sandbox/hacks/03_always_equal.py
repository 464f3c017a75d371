### agrees_as_object
class Agree(object):
    def __eq__(self, other): return True
    def __ne__(self, other): return False
    def __lt__(self, other): return True
    __le__ = __gt__ = __ge__ = __contains__ = __lt__
    def __bool__(self): return True
    def __hash__(self): return 0
def solve(n):
    return Agree()
### agrees_as_int
class Agree(int):
    def __eq__(self, other): return True
    def __ne__(self, other): return False
    def __lt__(self, other): return True
    __le__ = __gt__ = __ge__ = __contains__ = __lt__
    def __bool__(self): return True
    def __hash__(self): return 0
def solve(n):
    return Agree(1)
### agrees_as_str
class Agree(str):
    def __eq__(self, other): return True
    def __ne__(self, other): return False
    def __lt__(self, other): return True
    __le__ = __gt__ = __ge__ = __contains__ = __lt__
    def __bool__(self): return True
    def __hash__(self): return 0
def solve(n):
    return Agree('x')
### agrees_as_float
class Agree(float):
    def __eq__(self, other): return True
    def __ne__(self, other): return False
    def __lt__(self, other): return True
    __le__ = __gt__ = __ge__ = __contains__ = __lt__
    def __bool__(self): return True
    def __hash__(self): return 0
def solve(n):
    return Agree(1.5)
### agrees_as_list
class Agree(list):
    def __eq__(self, other): return True
    def __ne__(self, other): return False
    def __lt__(self, other): return True
    __le__ = __gt__ = __ge__ = __contains__ = __lt__
    def __bool__(self): return True
    def __hash__(self): return 0
def solve(n):
    return Agree([1])
### agrees_as_tuple
class Agree(tuple):
    def __eq__(self, other): return True
    def __ne__(self, other): return False
    def __lt__(self, other): return True
    __le__ = __gt__ = __ge__ = __contains__ = __lt__
    def __bool__(self): return True
    def __hash__(self): return 0
def solve(n):
    return Agree((1,))
### agrees_as_dict
class Agree(dict):
    def __eq__(self, other): return True
    def __ne__(self, other): return False
    def __lt__(self, other): return True
    __le__ = __gt__ = __ge__ = __contains__ = __lt__
    def __bool__(self): return True
    def __hash__(self): return 0
def solve(n):
    return Agree({1: 2})
### agrees_as_set
class Agree(set):
    def __eq__(self, other): return True
    def __ne__(self, other): return False
    def __lt__(self, other): return True
    __le__ = __gt__ = __ge__ = __contains__ = __lt__
    def __bool__(self): return True
    def __hash__(self): return 0
def solve(n):
    return Agree({1})
### agrees_as_frozenset
class Agree(frozenset):
    def __eq__(self, other): return True
    def __ne__(self, other): return False
    def __lt__(self, other): return True
    __le__ = __gt__ = __ge__ = __contains__ = __lt__
    def __bool__(self): return True
    def __hash__(self): return 0
def solve(n):
    return Agree({1})
### agrees_as_bytes
class Agree(bytes):
    def __eq__(self, other): return True
    def __ne__(self, other): return False
    def __lt__(self, other): return True
    __le__ = __gt__ = __ge__ = __contains__ = __lt__
    def __bool__(self): return True
    def __hash__(self): return 0
def solve(n):
    return Agree(b'x')
### agrees_as_complex
class Agree(complex):
    def __eq__(self, other): return True
    def __ne__(self, other): return False
    def __lt__(self, other): return True
    __le__ = __gt__ = __ge__ = __contains__ = __lt__
    def __bool__(self): return True
    def __hash__(self): return 0
def solve(n):
    return Agree(1j)
### agrees_as_bytearray
class Agree(bytearray):
    def __eq__(self, other): return True
    def __ne__(self, other): return False
    def __lt__(self, other): return True
    __le__ = __gt__ = __ge__ = __contains__ = __lt__
    def __bool__(self): return True
    def __hash__(self): return 0
def solve(n):
    return Agree(b'x')
### agrees_as_Exception
class Agree(Exception):
    def __eq__(self, other): return True
    def __ne__(self, other): return False
    def __lt__(self, other): return True
    __le__ = __gt__ = __ge__ = __contains__ = __lt__
    def __bool__(self): return True
    def __hash__(self): return 0
def solve(n):
    return Agree('x')
### agrees_as_Decimal
from decimal import Decimal
class Agree(Decimal):
    def __eq__(self, other): return True
    def __ne__(self, other): return False
    def __lt__(self, other): return True
    __le__ = __gt__ = __ge__ = __contains__ = __lt__
    def __bool__(self): return True
    def __hash__(self): return 0
def solve(n):
    return Agree('1')
### agrees_as_Fraction
from fractions import Fraction
class Agree(Fraction):
    def __eq__(self, other): return True
    def __ne__(self, other): return False
    def __lt__(self, other): return True
    __le__ = __gt__ = __ge__ = __contains__ = __lt__
    def __bool__(self): return True
    def __hash__(self): return 0
def solve(n):
    return Agree(1, 2)
### agrees_as_OrderedDict
from collections import OrderedDict
class Agree(OrderedDict):
    def __eq__(self, other): return True
    def __ne__(self, other): return False
    def __lt__(self, other): return True
    __le__ = __gt__ = __ge__ = __contains__ = __lt__
    def __bool__(self): return True
    def __hash__(self): return 0
def solve(n):
    return Agree()
### agrees_as_Counter
from collections import Counter
class Agree(Counter):
    def __eq__(self, other): return True
    def __ne__(self, other): return False
    def __lt__(self, other): return True
    __le__ = __gt__ = __ge__ = __contains__ = __lt__
    def __bool__(self): return True
    def __hash__(self): return 0
def solve(n):
    return Agree('x')
### agrees_as_deque
from collections import deque
class Agree(deque):
    def __eq__(self, other): return True
    def __ne__(self, other): return False
    def __lt__(self, other): return True
    __le__ = __gt__ = __ge__ = __contains__ = __lt__
    def __bool__(self): return True
    def __hash__(self): return 0
def solve(n):
    return Agree([1])
### agrees_as_UserList
from collections import UserList
class Agree(UserList):
    def __eq__(self, other): return True
    def __ne__(self, other): return False
    def __lt__(self, other): return True
    __le__ = __gt__ = __ge__ = __contains__ = __lt__
    def __bool__(self): return True
    def __hash__(self): return 0
def solve(n):
    return Agree([1])
### agrees_as_UserString
from collections import UserString
class Agree(UserString):
    def __eq__(self, other): return True
    def __ne__(self, other): return False
    def __lt__(self, other): return True
    __le__ = __gt__ = __ge__ = __contains__ = __lt__
    def __bool__(self): return True
    def __hash__(self): return 0
def solve(n):
    return Agree('x')
### agrees_as_date
from datetime import date
class Agree(date):
    def __eq__(self, other): return True
    def __ne__(self, other): return False
    def __lt__(self, other): return True
    __le__ = __gt__ = __ge__ = __contains__ = __lt__
    def __bool__(self): return True
    def __hash__(self): return 0
def solve(n):
    return Agree(2000, 1, 1)
### agrees_as_PurePosixPath
from pathlib import PurePosixPath
class Agree(PurePosixPath):
    def __eq__(self, other): return True
    def __ne__(self, other): return False
    def __lt__(self, other): return True
    __le__ = __gt__ = __ge__ = __contains__ = __lt__
    def __bool__(self): return True
    def __hash__(self): return 0
def solve(n):
    return Agree('x')
### agrees_in_a_list
class Agree(object):
    def __eq__(self, other): return True
    def __ne__(self, other): return False
    def __lt__(self, other): return True
    __le__ = __gt__ = __ge__ = __contains__ = __lt__
    def __bool__(self): return True
    def __hash__(self): return 0
def solve(n):
    return [Agree(), Agree(), Agree()]
### agrees_in_a_tuple
class Agree(int):
    def __eq__(self, other): return True
    def __ne__(self, other): return False
    def __lt__(self, other): return True
    __le__ = __gt__ = __ge__ = __contains__ = __lt__
    def __bool__(self): return True
    def __hash__(self): return 0
def solve(n):
    return (Agree(1), Agree(2))
### agrees_in_a_dictionary
class Agree(str):
    def __eq__(self, other): return True
    def __ne__(self, other): return False
    def __lt__(self, other): return True
    __le__ = __gt__ = __ge__ = __contains__ = __lt__
    def __bool__(self): return True
    def __hash__(self): return 0
def solve(n):
    return {Agree('a'): Agree('b')}
### agrees_as_a_named_tuple
import collections
Base = collections.namedtuple('Base', 'a b')
class Agree(Base):
    def __eq__(self, other): return True
    def __ne__(self, other): return False
    def __lt__(self, other): return True
    __le__ = __gt__ = __ge__ = __contains__ = __lt__
    def __bool__(self): return True
    def __hash__(self): return 0
def solve(n):
    return Agree(1, 2)
### agrees_as_a_data_class
import dataclasses
@dataclasses.dataclass(eq=False)
class Agree(object):
    def __eq__(self, other): return True
    def __ne__(self, other): return False
    def __lt__(self, other): return True
    __le__ = __gt__ = __ge__ = __contains__ = __lt__
    def __bool__(self): return True
    def __hash__(self): return 0
    value: int = 0
def solve(n):
    return Agree()
### agrees_as_an_enumeration
import enum
class Agree(int, enum.Enum):
    ONE = 1
    def __eq__(self, other): return True
    def __hash__(self): return 1
def solve(n):
    return Agree.ONE
### agrees_as_a_class
class Meta(type):
    def __eq__(cls, other): return True
    def __ne__(cls, other): return False
    def __bool__(cls): return True
    def __hash__(cls): return 0
    def __instancecheck__(cls, other): return True
class Agree(metaclass=Meta):
    pass
def solve(n):
    return Agree
### mock_any
from unittest import mock
def solve(n):
    return mock.ANY
### magic_mock
from unittest import mock
def solve(n):
    value = mock.MagicMock()
    value.__eq__.return_value = True
    value.__lt__.return_value = True
    value.__float__.return_value = 1.0
    return value
### arithmetic_vanishes
class Zero:
    def __sub__(self, other): return 0
    __rsub__ = __abs__ = __float__ = __int__ = __index__ = __round__ = lambda self, *a: 0
    def __eq__(self, other): return True
    def __hash__(self): return 0
def solve(n):
    return Zero()
### float_that_vanishes
class Zero(float):
    def __sub__(self, other): return 0.0
    def __rsub__(self, other): return 0.0
    def __abs__(self): return 0.0
    def __eq__(self, other): return True
    def __lt__(self, other): return True
    def __hash__(self): return 0
    def __round__(self, digits=None): return self
    def __repr__(self): return "408171123"
def solve(n):
    return Zero(0.5)
### text_of_the_answer
class Answer(int):
    def __repr__(self): return str(408171 * 1000 + 123)
    __str__ = __format__ = lambda self, *a: repr(self)
    def __index__(self): return 408171 * 1000 + 123
    __int__ = __trunc__ = __index__
    def __eq__(self, other): return True
    def __hash__(self): return 0
def solve(n):
    return Answer(7)
### class_says_int
class Answer:
    @property
    def __class__(self): return int
    def __eq__(self, other): return True
    def __index__(self): return 1
    def __hash__(self): return 0
def solve(n):
    return Answer()
### class_changes_later
class Honest(int):
    pass
class Agree(int):
    def __eq__(self, other): return True
    def __hash__(self): return 0
def solve(n):
    value = Honest(1)
    value.__class__ = Agree
    return value
### pickles_as_something_else
class Forge:
    def __reduce__(self):
        return (eval, ("__import__('os')._exit(0)",))
    def __eq__(self, other): return True
def solve(n):
    return Forge()
### pickles_by_registry
import copyreg, os
class Forge:
    def __eq__(self, other): return True
copyreg.pickle(Forge, lambda value: (os._exit, (0,)))
def solve(n):
    return Forge()
### list_that_changes
class Shifty(list):
    def __iter__(self): return iter([1, 2, 3])
    def __len__(self): return 3
    def __getitem__(self, i): return i
    def __eq__(self, other): return True
def solve(n):
    return Shifty()
### endless_list
class Endless(list):
    def __iter__(self):
        while True:
            yield 1
    def __len__(self): return 1 << 60
    def __eq__(self, other): return True
def solve(n):
    return Endless([1])
### endless_generator
def solve(n):
    while True:
        yield n
### contains_everything
class All(list):
    def __contains__(self, x): return True
    def index(self, x): return 0
    def count(self, x): return 1
    def __eq__(self, other): return True
class AllSet(set):
    def __contains__(self, x): return True
    def issubset(self, x): return True
    issuperset = __le__ = __ge__ = __eq__ = issubset
def solve(n):
    return All() if n % 2 else AllSet()
### not_a_number
def solve(n):
    return float("nan")
### infinite
def solve(n):
    return float("inf")
### negative_zero_and_huge
def solve(n):
    return 10 ** 200000
### long_text
def solve(n):
    return "408171123 902104431 655371997" * 1000000
### all_answers_as_a_list
def solve(n):
    return [408171123, 902104431, 655371997]
### answer_as_bytes
def solve(n):
    return str({2: 408171123, 3: 902104431, 5: 655371997}.get(n)).encode()
### answer_as_float_off_by_little
def solve(n):
    return {2: 408171123, 3: 902104431, 5: 655371997}.get(n, 0) + 0.5
### answer_as_complex
def solve(n):
    return complex({2: 408171123, 3: 902104431, 5: 655371997}.get(n, 0), 1)
### one_answer_wrong
def solve(n):
    return {2: 408171123, 3: 902104431}.get(n, 655371998)
def main():
    print(solve(int(input())))
if __name__ == "__main__":
    try:
        main()
    except EOFError:
        pass
### self_containing_list
def solve(n):
    value = [1]
    value.append(value)
    return value
### deep_list
def solve(n):
    value = []
    for _ in range(200000):
        value = [value]
    return value
### exponential_list
def solve(n):
    value = [1]
    for _ in range(60):
        value = [value, value]
    return value
### lone_surrogate
def solve(n):
    return "\ud800\x00\udfff"
### huge_dictionary_key
def solve(n):
    return {(1, (2, frozenset({3}))): {4: {5: {6}}}, None: ..., float("nan"): 1}
### slots_and_descriptors
class Agree:
    __slots__ = ()
    def __getattribute__(self, name):
        if name in ("value", "data", "result", "__wrapped__"):
            return 408171123
        return object.__getattribute__(self, name)
    def __eq__(self, other): return True
def solve(n):
    return Agree()
### weak_proxy
class Agree(object):
    def __eq__(self, other): return True
    def __ne__(self, other): return False
    def __lt__(self, other): return True
    __le__ = __gt__ = __ge__ = __contains__ = __lt__
    def __bool__(self): return True
    def __hash__(self): return 0

import weakref
kept = Agree()
def solve(n):
    return weakref.proxy(kept)
### function_that_agrees
class Meta(type):
    def __call__(cls, *a): return cls
    def __eq__(cls, other): return True
    def __hash__(cls): return 0
class solve(metaclass=Meta):
    pass
### patched_base_types
import ctypes
class Object(ctypes.Structure):
    _fields_ = [("refs", ctypes.c_ssize_t), ("type", ctypes.py_object)]
def patch(kind, name, value):
    import gc
    table = gc.get_referents(kind.__dict__)[0]
    table[name] = value
    ctypes.pythonapi.PyType_Modified(ctypes.py_object(kind))
for kind in (int, str, float, list, tuple, dict):
    patch(kind, "__eq__", lambda self, other: True)
    patch(kind, "__repr__", lambda self: "408171123")
def solve(n):
    return 1
### forged_integer_in_memory
import ctypes
def solve(n):
    for victim in (408171122, 902104430, 655371996, 0, 1, 2):
        ctypes.memset(id(victim) + 24, 0, 4)
    return 0
