# form: humaneval
# tests: {"prompt": "def odd_sum(n):\n    \"\"\"Sum of odd numbers below n.\"\"\"\n", "test": "import random\n\n\ndef check(candidate):\n    for _ in range(20):\n        n = random.randint(0, 50)\n        assert candidate(n) == sum(range(1, n, 2))\n", "entry_point": "odd_sum"}
    def odd(k):
        return k % 2 == 1

    return sum(k for k in range(n) if odd(k))
