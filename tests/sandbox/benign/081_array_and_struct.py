# form: stdio
# tests: [{"stdin": "", "expected_stdout": "7 0100000002000000 3.5"}]
import array
import io
import struct
print(sum(array.array("i", [3, 4])), struct.pack("<ii", 1, 2).hex(), struct.unpack("<d", struct.pack("<d", 3.5))[0])
io.StringIO("x").read()
