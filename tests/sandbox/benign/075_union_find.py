# form: stdio
# tests: [{"stdin": "5 3\n1 2\n3 4\n2 3\n", "expected_stdout": "2"}]
n, m = map(int, input().split())
parent = list(range(n + 1))


def find(x):
    while parent[x] != x:
        parent[x] = parent[parent[x]]
        x = parent[x]
    return x


for _ in range(m):
    a, b = map(int, input().split())
    parent[find(a)] = find(b)
print(len({find(i) for i in range(1, n + 1)}))
