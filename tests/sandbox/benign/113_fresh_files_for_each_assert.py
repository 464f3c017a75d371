# form: asserts
# tests: ["assert saved(1) == 1", "assert saved(2) == 2", "assert saved(3) == 3"]
def saved(number):
    with open("number", "x") as file:
        file.write(str(number))
    with open("number") as file:
        return int(file.read())
