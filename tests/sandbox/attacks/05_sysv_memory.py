# Fills shared memory that belongs to no process.
while True:
    identifier = syscall(29, 0, 16 << 20, 0o1666)
    _libc.shmat.restype = ctypes.c_void_p
    address = _libc.shmat(identifier, None, 0)
    if address in (None, ctypes.c_void_p(-1).value):
        raise OSError(ctypes.get_errno(), "shmat")
    ctypes.memset(address, 1, 16 << 20)
    _libc.shmdt(ctypes.c_void_p(address))
