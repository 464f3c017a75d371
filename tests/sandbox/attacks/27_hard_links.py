for target in ("/usr/bin/python3", os.path.realpath("/usr/bin/python3"), os.path.realpath(os.__file__), "/etc/passwd",
               "/proc/self/exe", "/dev/null"):
    attempt(f"link {target}", lambda: os.link(target, "sluice_attack_link", follow_symlinks=False))
    if os.path.lexists("sluice_attack_link"):
        os.unlink("sluice_attack_link")
attempt("linkat descriptor", lambda: os.link(f"/proc/self/fd/{os.open(os.__file__, os.O_RDONLY)}", "sluice_attack_fd"))
