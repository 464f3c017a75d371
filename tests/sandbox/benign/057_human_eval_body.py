# form: humaneval
# tests: {"prompt": "from typing import List\n\n\ndef add_all(xs: List[int]) -> int:\n    \"\"\"Sum.\n    >>> add_all([1, 2])\n    3\n    \"\"\"\n", "test": "\n\nMETADATA = {}\n\n\ndef check(candidate):\n    assert candidate([1, 2]) == 3\n    assert candidate([]) == 0\n    assert candidate([-1, 1]) == 0\n", "entry_point": "add_all"}
    total = 0
    for x in xs:
        total += x
    return total
