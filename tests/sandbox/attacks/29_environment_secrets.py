# The host's variable SLUICE_ATTACK_SECRET must be nowhere.
seen = [repr(dict(os.environ))]
for process in [p for p in os.listdir("/proc") if p.isdigit()] + ["self", "thread-self"] if os.path.isdir("/proc") else []:
    for part in ("environ", "cmdline"):
        try:
            seen.append(open(f"/proc/{process}/{part}", "rb").read().decode("latin-1"))
        except OSError:
            pass
text = "\n".join(seen)
contained("environment", "sluice_attack_secret_value" not in text and "SLUICE_ATTACK" not in text, text)
names = sorted(os.environ)
contained("few variables", len(names) <= 16, names)
