# form: function
# tests: {"entry_point": "words", "cases": [{"args": ["Hello, big World: 12 times"], "expected": ["Hello", "World"]}]}
import re


def words(text):
    return re.findall(r"\b[A-Z]\w+", text)
