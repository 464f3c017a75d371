# The harness of code rewards: the files of this folder, one after the other, make one module, which the sandbox's
# interpreter has loaded before any run. A run is one of its functions candidate(), tests(), program(), checker() and
# together(), none of which returns.
#
# Messages of descriptor 3: four bytes of length, little-endian, and a tuple in marshal, version 2.
import builtins, marshal, os, sys


def _channel(read=os.read, write=os.write, dumps=marshal.dumps, loads=marshal.loads):
    pending = bytearray()

    def send(message):
        data = dumps(message, 2)
        data = len(data).to_bytes(4, "little") + data
        while data:
            data = data[write(3, data):]

    def receive():
        while len(pending) < 4 or len(pending) < 4 + int.from_bytes(pending[:4], "little"):
            part = read(3, 1 << 16)
            if not part:
                raise EOFError("the channel is closed")
            pending.extend(part)
        end = 4 + int.from_bytes(pending[:4], "little")
        message = loads(bytes(pending[4:end]))
        del pending[:end]
        return message

    return send, receive


send, receive = _channel()
