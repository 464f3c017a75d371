# form: stdio
# tests: [{"stdin": "100\n", "expected_stdout": "4950"}]
import queue
import threading
n = int(input())
q, total = queue.Queue(maxsize=4), []


def consume():
    while (item := q.get()) is not None:
        total.append(item)


t = threading.Thread(target=consume)
t.start()
for i in range(n):
    q.put(i)
q.put(None)
t.join()
print(sum(total))
