block = b"e" * 65536
while True:
    os.write(2, block)
