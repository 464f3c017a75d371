sys.stdout.write("0123456789" * 20000)
