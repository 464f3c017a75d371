# form: stdio
# tests: [{"stdin": "", "expected_stdout": "True True"}]
import random
import secrets
random.seed(5)
first = [random.random() for _ in range(5)]
random.seed(5)
print(first == [random.random() for _ in range(5)], len(secrets.token_bytes(8)) == 8)
