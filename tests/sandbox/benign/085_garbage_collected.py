# form: stdio
# tests: [{"stdin": "", "expected_stdout": "closed 3"}]
import gc
import weakref


class Node:
    def __del__(self):
        closed.append(self)


closed = []
for _ in range(3):
    a = Node()
    a.self = a
del a
gc.collect()
print("closed", len(closed), *([] if weakref.ref(closed[0])() else ["gone"]))
