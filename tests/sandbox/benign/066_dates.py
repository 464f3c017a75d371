# form: stdio
# tests: [{"stdin": "2024-02-28\n", "expected_stdout": "2024-03-01 Friday 61"}]
import calendar
import datetime
day = datetime.date.fromisoformat(input()) + datetime.timedelta(days=2)
print(day, calendar.day_name[day.weekday()], day.timetuple().tm_yday)
