# form: humaneval
# tests: {"prompt": "def twice(x):\n    return 2 * x\n\n\ndef four_times(x):\n    \"\"\"Four times x.\"\"\"\n", "test": "def check(candidate):\n    for i in range(10):\n        assert candidate(i) == 4 * i, 'times'\n    assert abs(candidate(0.5) - 2) < 1e-9\n", "entry_point": "four_times"}
    return twice(twice(x))
