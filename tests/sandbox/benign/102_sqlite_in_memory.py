# form: stdio
# tests: [{"stdin": "", "expected_stdout": "[('b', 2), ('a', 1)]"}]
import sqlite3
db = sqlite3.connect(":memory:")
db.execute("create table t (name text, n int)")
db.executemany("insert into t values (?, ?)", [("a", 1), ("b", 2)])
print(db.execute("select * from t order by n desc").fetchall())
