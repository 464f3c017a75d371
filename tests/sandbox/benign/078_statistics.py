# form: stdio
# comparison: numeric
# tests: [{"stdin": "1 2 3 4\n", "expected_stdout": "2.5 1.2909944487358056 2.5"}]
import statistics
values = list(map(float, input().split()))
print(statistics.mean(values), "%.9f" % statistics.stdev(values), statistics.median(values))
