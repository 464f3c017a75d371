me = str(os.getpid())
others = [p for p in os.listdir("/proc") if p.isdigit() and p != me] if os.path.isdir("/proc") else []
parent = str(os.getppid())
for process in sorted(set(others + [parent, "1"]) - {me, "0"}):
    for part in ("mem", "environ", "auxv", "maps", "pagemap", "syscall", "stack"):
        attempt(f"read /proc/{process}/{part}", lambda: open(f"/proc/{process}/{part}", "rb").read(16))
    for part in ("root", "cwd", "exe"):
        attempt(f"link /proc/{process}/{part}", lambda: os.readlink(f"/proc/{process}/{part}"))
    for part in ("fd", "root", "task", "map_files"):
        if part != "task":
            attempt(f"list /proc/{process}/{part}", lambda: os.listdir(f"/proc/{process}/{part}"))
for path in ("/proc/kcore", "/proc/kmsg", "/proc/kallsyms", "/proc/keys", "/proc/sysrq-trigger", "/proc/timer_list",
             "/proc/sched_debug", "/dev/mem", "/dev/kmsg", "/dev/port", "/sys/kernel/debug", "/sys/firmware"):
    attempt(f"open {path} for writing", lambda: os.open(path, os.O_WRONLY))
for path in ("/proc/kcore", "/proc/kmsg", "/dev/mem", "/dev/kmsg", "/dev/vsock", "/dev/kvm", "/dev/vda", "/dev/fuse"):
    attempt(f"open {path}", lambda: os.open(path, os.O_RDONLY | os.O_NONBLOCK))
