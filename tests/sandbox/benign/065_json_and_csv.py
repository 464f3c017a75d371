# form: stdio
# tests: [{"stdin": "name,n\na,1\nb,2\n", "expected_stdout": "[{\"name\": \"a\", \"n\": \"1\"}, {\"name\": \"b\", \"n\": \"2\"}]"}]
import csv
import json
import sys
print(json.dumps(list(csv.DictReader(sys.stdin))))
