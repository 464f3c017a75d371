# form: stdio
# tests: [{"stdin": "1\n", "expected_stdout": "1"}, {"stdin": "2\n", "expected_stdout": "2"}, {"stdin": "3\n", "expected_stdout": "3"}]
import os

number = input()
for folder in (".", "/tmp", "/dev/shm"):
    assert os.listdir(folder) == [], folder
    os.makedirs(f"{folder}/kept/deep")
    with open(f"{folder}/kept/deep/number", "x") as file:
        file.write(number)
    os.chmod(f"{folder}/kept", 0)
os.chmod(".", 0o500)
print(number)
