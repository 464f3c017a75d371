# form: stdio
# tests: [{"stdin": "5 4 1 3 2\n", "expected_stdout": "1 2 3 4 5"}]
import heapq

heap = list(map(int, input().split()))
heapq.heapify(heap)
print(*[heapq.heappop(heap) for _ in range(len(heap))])
