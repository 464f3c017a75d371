# Objects of System V IPC outlive their process and are charged to nobody.
SHMGET, SEMGET, MSGGET = 29, 64, 68
for key in range(0x51C50000, 0x51C50008):
    for number, arguments in ((SHMGET, (key, 1 << 20, 0o1666)), (SEMGET, (key, 4, 0o1666)), (MSGGET, (key, 0o1666))):
        try:
            syscall(number, *arguments)
        except OSError:
            pass
try:
    syscall(240, b"sluice_attack_queue", os.O_CREAT | os.O_RDWR, 0o666, None)  # mq_open
except OSError:
    pass
print("done")
