# form: stdio
# tests: [{"stdin": "5\n", "expected_stdout": "[0, 1, 4, 9, 16]"}]
import multiprocessing


def square(x):
    return x * x


if __name__ == "__main__":
    n = int(input())
    with multiprocessing.get_context("fork").Pool(2) as pool:
        print(pool.map(square, range(n)))
