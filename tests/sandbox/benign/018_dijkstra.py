# form: stdio
# tests: [{"stdin": "4 4\n1 2 1\n2 3 2\n1 3 5\n3 4 1\n", "expected_stdout": "0 1 3 4"}]
import heapq
import sys

read = sys.stdin.readline
n, m = map(int, read().split())
graph = [[] for _ in range(n + 1)]
for _ in range(m):
    a, b, w = map(int, read().split())
    graph[a].append((b, w))
    graph[b].append((a, w))
distance = [float("inf")] * (n + 1)
distance[1] = 0
heap = [(0, 1)]
while heap:
    d, v = heapq.heappop(heap)
    if d > distance[v]:
        continue
    for u, w in graph[v]:
        if d + w < distance[u]:
            distance[u] = d + w
            heapq.heappush(heap, (d + w, u))
print(*distance[1:])
