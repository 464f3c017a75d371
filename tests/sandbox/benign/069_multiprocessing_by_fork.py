# form: stdio
# tests: [{"stdin": "4\n", "expected_stdout": "[0, 1, 8, 27]"}]
import os
results = []
for i in range(int(input())):
    read, write = os.pipe()
    if os.fork() == 0:
        os.write(write, str(i ** 3).encode())
        os._exit(0)
    os.close(write)
    results.append(int(os.read(read, 100)))
    os.close(read)
    os.wait()
print(results)
