# form: stdio
# tests: [{"stdin": "4\n", "expected_stdout": "24"}]
import math


def main():
    print(math.factorial(int(input())))


if __name__ == "__main__":
    main()
