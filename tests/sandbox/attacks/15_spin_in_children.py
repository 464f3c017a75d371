# No process uses much; all together do.
while True:
    children = []
    for _ in range(4):
        child = os.fork()
        if child == 0:
            n = 0
            while n < 2000000:
                n += 1
            os._exit(0)
        children.append(child)
    for child in children:
        os.waitpid(child, 0)
