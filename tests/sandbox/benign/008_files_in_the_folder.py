# form: stdio
# tests: [{"stdin": "3\n", "expected_stdout": "0 1 2"}]
import os

n = int(input())
os.makedirs("data/deep", exist_ok=True)
for i in range(n):
    with open(f"data/deep/{i}.txt", "w") as f:
        f.write(str(i))
print(*sorted(open(f"data/deep/{name}").read() for name in os.listdir("data/deep")))
