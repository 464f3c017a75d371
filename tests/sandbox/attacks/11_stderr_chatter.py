block = b"e" * 65536
for _ in range(12):
    os.write(2, block)
print("done")
