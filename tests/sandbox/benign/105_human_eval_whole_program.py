# form: humaneval
# completion: Sure:\n```python\n{}```\n
# tests: {"prompt": "def triple(x):\n    \"\"\"Three times x.\"\"\"\n", "test": "def check(candidate):\n    assert candidate(2) == 6\n    assert candidate('a') == 'aaa'\n", "entry_point": "triple"}
def triple(x):
    """Three times x."""
    return 3 * x
