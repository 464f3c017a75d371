# form: stdio
# tests: [{"stdin": "", "expected_stdout": "104857600"}]
data = bytearray(100 << 20)
for i in range(0, len(data), 4096):
    data[i] = 1
print(len(data))
