# Deeper than any path can say.
depth = 0
try:
    while depth < 20000:
        os.mkdir("d")
        os.chdir("d")
        depth += 1
except OSError:
    pass
print(depth)
