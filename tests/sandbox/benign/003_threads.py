# form: stdio
# tests: [{"stdin": "8\n", "expected_stdout": "28"}, {"stdin": "16\n", "expected_stdout": "120"}]
import threading

count = int(input())
results, lock = [], threading.Lock()


def work(i):
    with lock:
        results.append(i)


threads = [threading.Thread(target=work, args=(i,)) for i in range(count)]
for t in threads:
    t.start()
for t in threads:
    t.join()
print(sum(results))
