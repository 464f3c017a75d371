# form: stdio
# tests: [{"stdin": "abc\n", "expected_stdout": "900150983cd24fb0 YWJj ba7816bf 352441c2"}]
import base64
import hashlib
import zlib
data = input().encode()
print(hashlib.md5(data).hexdigest()[:16], base64.b64encode(data).decode(), hashlib.sha256(data).hexdigest()[:8],
      f"{zlib.crc32(data):08x}")
