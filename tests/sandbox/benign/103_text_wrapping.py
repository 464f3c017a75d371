# form: stdio
# tests: [{"stdin": "the quick brown fox\n", "expected_stdout": "the quick\nbrown fox"}]
import shlex
import string
import textwrap
text = string.capwords(" ".join(shlex.split(input()))).lower()
print(textwrap.fill(text, 10))
