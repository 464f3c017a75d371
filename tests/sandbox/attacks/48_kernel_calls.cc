#include <sched.h>
#include <stdint.h>
#include <sys/mman.h>
#include <sys/mount.h>
#include <sys/syscall.h>

#include "attempt.h"
#define TRY(name, ...) AttemptApart(name, [] { return syscall(__VA_ARGS__); })
int main() {
  static char zeros[256] = {0};
  TRY("mount tmpfs", SYS_mount, "none", ".", "tmpfs", 0, 0);
  TRY("mount bind", SYS_mount, "/", ".", "", MS_BIND, 0);
  TRY("mount remount", SYS_mount, "none", "/", "", MS_REMOUNT | MS_BIND, 0);
  TRY("mount proc", SYS_mount, "proc", ".", "proc", 0, 0);
  TRY("umount /", SYS_umount2, "/", MNT_DETACH);
  TRY("umount /proc", SYS_umount2, "/proc", MNT_DETACH);
  TRY("pivot_root", SYS_pivot_root, ".", ".");
  TRY("chroot", SYS_chroot, ".");
  TRY("move_mount", 429, -100, "/", -100, ".", 0);
  TRY("open_tree clone", 428, -100, "/", 1);
  TRY("fsopen", 430, "tmpfs", 0);
  TRY("fspick", 433, -100, "/", 0);
  TRY("mount_setattr", 442, -100, "/", 0, zeros, 32);
  TRY("setns", SYS_setns, 0, 0);
  TRY("bpf", SYS_bpf, 0, zeros, 64);
  TRY("perf_event_open", SYS_perf_event_open, zeros, 0, -1, -1, 0);
  TRY("userfaultfd", SYS_userfaultfd, 1);
  TRY("kexec_load", SYS_kexec_load, 0, 0, 0, 0);
  TRY("kexec_file_load", SYS_kexec_file_load, 0, 0, 0, 0, 0);
  TRY("init_module", SYS_init_module, zeros, 64, "");
  TRY("finit_module", SYS_finit_module, 0, "", 0);
  TRY("delete_module", SYS_delete_module, "loop", 0);
  TRY("reboot", SYS_reboot, 0xfee1dead, 672274793, 0, 0);
  TRY("swapon", SYS_swapon, "sluice_attack", 0);
  TRY("swapoff", SYS_swapoff, "sluice_attack");
  TRY("acct", SYS_acct, "sluice_attack");
  TRY("quotactl", SYS_quotactl, 0x800001, 0, 0, zeros);
  TRY("syslog", SYS_syslog, 3, zeros, 200);
  TRY("sethostname", SYS_sethostname, "x", 1);
  TRY("setdomainname", SYS_setdomainname, "x", 1);
  TRY("iopl", SYS_iopl, 3);
  TRY("ioperm", SYS_ioperm, 0, 1, 1);
  TRY("fanotify_init", SYS_fanotify_init, 0, 0);
  TRY("lookup_dcookie", SYS_lookup_dcookie, 0, zeros, 8);
  TRY("vhangup", SYS_vhangup);
  TRY("modify_ldt write", SYS_modify_ldt, 1, zeros, 16);
  TRY("migrate_pages", SYS_migrate_pages, getppid(), 1, zeros, zeros);
  TRY("move_pages of another", SYS_move_pages, getppid() ? getppid() : 1, 0, 0, 0, 0, 0);
  TRY("personality READ_IMPLIES_EXEC", SYS_personality, 0x0400000);
  TRY("landlock nothing to add", 444, zeros, 8, 0);
  TRY("unknown call", 1000, 0, 0, 0);
  puts("done: contained");
}
