# The service will write "script" and "folder/script" next; argv gives a folder of the host.
host = sys.stdin.read().strip()
os.symlink(host + "/victim", "script")
os.symlink(host, "folder")
os.mkdir("real")
os.symlink("../../../../../../../../.." + host + "/victim", "real/script")
print("done")
