for path in ("/sys/fs/cgroup/cgroup.procs", "/sys/fs/cgroup/memory/memory.limit_in_bytes", "/sys/fs/cgroup/memory.max",
             "/sys/fs/cgroup/pids.max", "/sys/fs/cgroup/unified/cgroup.procs", "/sys/kernel/uevent_helper",
             "/sys/kernel/mm/transparent_hugepage/enabled", "/sys/power/state", "/proc/sys/kernel/core_pattern",
             "/proc/sys/kernel/modprobe", "/proc/sys/vm/drop_caches", "/proc/sys/kernel/hostname",
             "/proc/sys/vm/overcommit_memory", "/proc/sys/kernel/pid_max", "/proc/sys/fs/binfmt_misc/register",
             "/proc/self/uid_map", "/proc/self/gid_map", "/proc/self/setgroups", "/proc/1/oom_score_adj",
             "/proc/self/attr/current", "/proc/sysrq-trigger", "/proc/irq/default_smp_affinity", "/proc/mtrr",
             "/proc/acpi", "/proc/scsi/scsi", "/proc/bus/pci"):
    attempt(f"write {path}", lambda: os.write(os.open(path, os.O_WRONLY), b"1"))
for path in ("/sys/fs/cgroup", "/sys/fs/cgroup/memory", "/sys/fs/cgroup/pids", "/sys/fs/cgroup/unified"):
    attempt(f"mkdir {path}", lambda: os.mkdir(path + "/sluice_attack"))
for path in ("/", "/usr", "/usr/lib", "/usr/bin", "/etc", "/dev", "/proc", "/lib", "/var", "/run", "/home", "/root", "/mnt",
             os.path.dirname(os.__file__)):
    attempt(f"create in {path}", lambda: os.open(path + "/sluice_attack_file", os.O_CREAT | os.O_WRONLY))
attempt("overwrite os.py", lambda: open(os.__file__, "r+b"))
attempt("overwrite python", lambda: open(os.path.realpath("/usr/bin/python3"), "r+b"))
attempt("chmod os.py", lambda: os.chmod(os.__file__, 0o777))
attempt("utime os.py", lambda: os.utime(os.__file__, (0, 0)))
attempt("setxattr os.py", lambda: os.setxattr(os.__file__, "user.x", b"1"))
attempt("unlink os.py", lambda: os.unlink(os.__file__))
attempt("rename /usr", lambda: os.rename("/usr", "/usr2"))
attempt("truncate python", lambda: os.truncate(os.path.realpath("/usr/bin/python3"), 0))
