# Names that break what walks, lists or deletes files.
for name in (b"a\nb", b"\xff\xfe\xfd", b"-rf", b"$(reboot)", b"x" * 255, b"' ; rm -rf *", b"..sluice_attack", b" ", b"\\",
             b"%s%n", "\u202etxt.exe".encode(), b"\x01\x02"):
    os.close(os.open(name, os.O_CREAT | os.O_WRONLY))
    os.mkdir(name + b"d" if len(name) < 255 else b"d" * 255)
os.mkdir("locked")
open("locked/file", "w").write("x")
os.chmod("locked", 0)
open("immutable", "w").write("x")
os.chmod("immutable", 0)
print("done")
