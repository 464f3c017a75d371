### skip_test
import unittest
def solve(n):
    raise unittest.SkipTest("skipped")
### skip_test_at_import
import unittest
raise unittest.SkipTest("skipped")
### pytest_skip
try:
    import pytest
    pytest.skip("skipped", allow_module_level=True)
except ImportError:
    pass
def solve(n):
    raise NotImplementedError
### keyboard_interrupt
def solve(n):
    raise KeyboardInterrupt
### keyboard_interrupt_at_import
raise KeyboardInterrupt
### generator_exit
def solve(n):
    raise GeneratorExit
### stop_iteration
def solve(n):
    raise StopIteration(408171)
### stop_async_iteration
def solve(n):
    raise StopAsyncIteration
### base_exception
class Pass(BaseException):
    pass
def solve(n):
    raise Pass()
### exception_group
def solve(n):
    raise BaseExceptionGroup("all", [SystemExit(0), KeyboardInterrupt()])
### exception_with_strange_text
class Odd(Exception):
    def __str__(self):
        raise self
    __repr__ = __str__
def solve(n):
    raise Odd()
### exception_whose_text_exits
import os
class Odd(Exception):
    def __str__(self):
        os._exit(0)
    __repr__ = __str__
    @property
    def args(self):
        os._exit(0)
def solve(n):
    raise Odd()
### exception_with_huge_text
class Odd(Exception):
    def __str__(self):
        return "x" * (200 << 20)
def solve(n):
    raise Odd()
### exception_class_name_is_passed
passed = type("passed", (Exception,), {"__module__": "builtins"})
def solve(n):
    raise passed("passed")
### exception_metaclass
import os
class Meta(type):
    @property
    def __name__(cls):
        os._exit(0)
    def __instancecheck__(cls, instance):
        os._exit(0)
class Odd(Exception, metaclass=Meta):
    pass
def solve(n):
    raise Odd()
### endless_cause
def solve(n):
    error = ValueError(1)
    error.__context__ = TypeError(2)
    error.__cause__ = error.__context__
    raise error
### deep_traceback
def deep(n):
    if n == 0:
        raise ValueError("deep")
    deep(n - 1)
def solve(n):
    deep(900)
### cancelled
import asyncio
def solve(n):
    raise asyncio.CancelledError
### assertion_error
def solve(n):
    raise AssertionError
### catches_the_assertion
import contextlib
@contextlib.contextmanager
def quiet():
    try:
        yield
    except BaseException:
        pass
def solve(n):
    with quiet():
        raise AssertionError
### returns_nothing
def solve(n):
    return None
### not_implemented
def solve(n):
    return NotImplemented
### ellipsis
def solve(n):
    return ...
### empty
pass
### missing_function
def another(n):
    return 0
### function_is_a_number
solve = 408171
### function_is_a_class
class solve:
    def __init__(self, n):
        pass
    def __eq__(self, other):
        return True
### function_is_an_object
class Anything:
    def __call__(self, *a, **k):
        return self
    def __eq__(self, other):
        return True
    def __getattr__(self, name):
        return self
    def __bool__(self):
        return True
solve = Anything()
### coroutine
async def solve(n):
    return 408171123
### generator
def solve(n):
    yield 408171123
### syntax_error
def solve(n) return n
### null_byte
solve = "\x00
### infinite_recursion
def solve(n):
    return solve(n)
### infinite_recursion_without_limit
import sys
sys.setrecursionlimit(1 << 30)
def solve(n):
    return [solve(n)]
### infinite_recursion_in_repr
class Deep:
    def __repr__(self):
        return repr(self)
    __eq__ = lambda self, other: self == other
def solve(n):
    return Deep()
