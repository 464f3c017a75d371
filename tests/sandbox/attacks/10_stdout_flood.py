block = b"x" * 65536
while True:
    os.write(1, block)
