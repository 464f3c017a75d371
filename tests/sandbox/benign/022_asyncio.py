# form: stdio
# tests: [{"stdin": "5\n", "expected_stdout": "[0, 1, 4, 9, 16]"}]
import asyncio


async def square(i):
    await asyncio.sleep(0)
    return i * i


async def main():
    print(await asyncio.gather(*(square(i) for i in range(int(input())))))


asyncio.run(main())
