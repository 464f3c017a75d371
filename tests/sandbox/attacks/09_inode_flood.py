made = 0
try:
    while made < 1000000:
        os.close(os.open(f"sluice_attack_{made}", os.O_CREAT | os.O_WRONLY))
        made += 1
except OSError:
    pass
print(made)
