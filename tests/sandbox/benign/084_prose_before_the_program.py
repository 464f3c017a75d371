# form: stdio
# completion: Here is how I would do it.\n\n```python\nprint("draft")\n```\n\nThat was a draft; the final program:\n\n```python\n{}```\nIt prints the sum.
# tests: [{"stdin": "2 3\n", "expected_stdout": "5"}]
print(sum(map(int, input().split())))
