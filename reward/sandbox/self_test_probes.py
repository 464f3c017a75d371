# Run inside a box by the self-test. Standard input: the service's namespaces, "name link" a line. Output: a line
# "property<TAB>1 or 0<TAB>what was seen" for each property that can be tried from here.
import ctypes
import errno
import mmap
import os
import signal
import socket
import stat
import sys

libc = ctypes.CDLL(None, use_errno=True)


def report(name, problem):
    print(name, 0 if problem else 1, problem or "", sep="\t", flush=True)


def probe(name, function, *arguments):
    try:
        report(name, function(*arguments))
    except Exception as error:
        report(name, f"the probe failed: {error!r}")


def ends_by(action):
    """How a child ends that does `action`: the signal's number, or minus the exit code."""
    child = os.fork()
    if child == 0:
        try:
            action()
        finally:
            os._exit(0)
    status = os.waitpid(child, 0)[1]
    return os.WTERMSIG(status) if os.WIFSIGNALED(status) else -os.WEXITSTATUS(status)


def system_call(number, *arguments):
    result = libc.syscall(ctypes.c_long(number), *[ctypes.c_long(a) for a in arguments])
    return errno.errorcode.get(ctypes.get_errno(), "?") if result < 0 else "ok"


def other_namespace(kind, host):
    here = os.readlink("/proc/self/ns/" + kind)
    return "" if here != host[kind] else f"shares {here} with the service"


def user_map(host):
    if os.getuid() != 1000 or os.getgid() != 1000:
        return f"runs as user {os.getuid()}, group {os.getgid()}"
    fields = open("/proc/self/uid_map").read().split()
    if len(fields) != 3 or fields[2] != "1":
        return f"the user map is {fields}"
    return other_namespace("user", host)


def read_only_root(host):
    for folder in ("/", "/usr/bin", "/usr/lib", "/etc", "/dev", "/artefacts"):
        if not os.statvfs(folder).f_flag & os.ST_RDONLY:
            return f"{folder} is not mounted read-only"
        try:
            os.close(os.open(folder + "/probe", os.O_CREAT | os.O_WRONLY))
            return f"could create a file in {folder}"
        except OSError:
            pass
    for folder in ("/root", "/home", "/var", "/sys", "/boot", "/run", "/opt", "/mnt"):
        if os.path.exists(folder):
            return f"sees {folder}"
    return other_namespace("mnt", host)


def own_processes(host):
    seen = [name for name in os.listdir("/proc") if name.isdigit()]
    if os.getppid() != 1 or len(seen) > 3:
        return f"parent {os.getppid()}, sees processes {seen}"
    return other_namespace("pid", host)


def no_network(host):
    devices = [line.split(":")[0].strip() for line in open("/proc/self/net/dev").readlines()[2:]]
    if devices != ["lo"]:
        return f"sees network devices {devices}"
    if len(open("/proc/self/net/route").readlines()) > 1:
        return "has a route"
    return other_namespace("net", host)


def no_sockets():
    for family in (socket.AF_INET, socket.AF_INET6, socket.AF_UNIX, 40):
        try:
            socket.socket(family, socket.SOCK_STREAM)
            return f"could make a socket of family {family}"
        except OSError:
            pass
    return ""


def no_capabilities():
    header, sets = (ctypes.c_uint32 * 2)(0x20080522, 0), (ctypes.c_uint32 * 6)()
    if libc.syscall(ctypes.c_long(125), header, sets) != 0:
        return "capget failed"
    bounding = [number for number in range(64) if libc.prctl(23, number, 0, 0, 0) == 1]
    return f"holds {list(sets)}, bounding set {bounding}" if any(sets) or bounding else ""


def no_new_privileges():
    return "" if libc.prctl(39, 0, 0, 0, 0) == 1 else "no_new_privs is not set"


def not_dumpable():
    return "" if libc.prctl(3, 0, 0, 0, 0) == 0 else "is dumpable"


def int_80():
    code = mmap.mmap(-1, 4096, prot=mmap.PROT_READ | mmap.PROT_WRITE | mmap.PROT_EXEC)
    code.write(b"\xb8\x14\x00\x00\x00\xcd\x80\xc3")  # getpid of i386
    ctypes.CFUNCTYPE(ctypes.c_int)(ctypes.addressof(ctypes.c_char.from_buffer(code)))()


def seccomp():
    if libc.prctl(21, 0, 0, 0, 0) != 2:
        return "no filter is installed"
    killed = {"ptrace": lambda: system_call(101, 0), "unshare": lambda: system_call(272, 0x10000000),
              "mount": lambda: system_call(165), "bpf": lambda: system_call(321), "keyctl": lambda: system_call(250),
              "io_uring_setup": lambda: system_call(425), "clone with a namespace": lambda: system_call(56, 0x10000011),
              "a call of x32": lambda: system_call(0x40000000 | 39), "a call of i386": int_80}
    for name, action in killed.items() if os.uname().machine == "x86_64" else ():
        end = ends_by(action)
        if end != signal.SIGSYS:
            return f"{name} ended with {end} instead of SIGSYS"
    return "" if system_call(435) == "ENOSYS" else "clone3 is not refused"


def landlock():
    try:
        os.mknod("/work/socket", stat.S_IFSOCK | 0o600)
        os.unlink("/work/socket")
        return "could make a socket file"
    except PermissionError:
        return ""


def masked_proc():
    seen = [name for name in ("sys", "kcore", "keys", "sysrq-trigger", "timer_list", "meminfo")
            if os.path.exists("/proc/" + name)]
    return f"sees {seen} in /proc" if seen else ""


def private_devices():
    wanted = {"null", "zero", "random", "urandom", "shm", "fd", "stdin", "stdout", "stderr"}
    seen = set(os.listdir("/dev")) - wanted
    return f"sees devices {sorted(seen)}" if seen else ""


def clean_start():
    open_files = []
    for number in range(3, 256):
        try:
            os.fstat(number)
            open_files.append(number)
        except OSError:
            pass
    extra = set(os.environ) - {"PATH", "HOME", "LANG", "TMPDIR", "PYTHONHASHSEED", "LC_CTYPE"}
    return f"inherits descriptors {open_files}, variables {sorted(extra)}" if open_files or extra else ""


def resource_limits():
    import resource
    wanted = {"CORE": 1, "MEMLOCK": 0, "MSGQUEUE": 0}
    wrong = [name for name, value in wanted.items() if resource.getrlimit(getattr(resource, "RLIMIT_" + name, 12))[1] != value]
    return f"limits {wrong} are not set" if wrong else ""


def main():
    host = dict(line.split() for line in sys.stdin)
    probe("user_namespace", user_map, host)
    probe("read_only_root", read_only_root, host)
    probe("pid_namespace", own_processes, host)
    probe("network_namespace", no_network, host)
    for name, kind in (("ipc_namespace", "ipc"), ("uts_namespace", "uts"), ("cgroup_namespace", "cgroup")):
        probe(name, other_namespace, kind, host)
    for function in (no_sockets, no_capabilities, no_new_privileges, not_dumpable, seccomp, landlock, masked_proc,
                     private_devices, clean_start, resource_limits):
        probe(function.__name__, function)


main()
