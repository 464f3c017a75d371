children = 0
try:
    while children < 100000:
        if os.fork() == 0:
            os._exit(0)
        children += 1
except OSError:
    pass
print(children)
