// A SQLite connection with Status errors and cached statements. Not thread-safe: its owner locks.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <string>
#include <variant>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"

struct sqlite3;
struct sqlite3_stmt;

namespace sluice {

// SQLite's integers are signed; draws and the like fit in them.
inline int64_t SqlInteger(uint64_t value) { return static_cast<int64_t>(value); }

using SqlValue = std::variant<std::nullptr_t, int64_t, double, std::string>;

// One row of a result; valid during the callback.
class SqlRow {
 public:
  explicit SqlRow(sqlite3_stmt* statement) : statement_(statement) {}
  int64_t Int(int column) const;
  double Real(int column) const;
  std::string Text(int column) const;
  bool IsNull(int column) const;

 private:
  sqlite3_stmt* statement_;
};

class Database {
 public:
  // WAL, synchronous=FULL.
  static absl::StatusOr<std::unique_ptr<Database>> Open(const std::string& path);
  // Beside another connection, which made it: sees what that one committed, changes nothing, and neither
  // waits for the other.
  static absl::StatusOr<std::unique_ptr<Database>> OpenToRead(const std::string& path);
  ~Database();

  absl::Status Script(const std::string& sql);  // several statements without values
  absl::Status Run(const std::string& sql, const std::vector<SqlValue>& values = {});
  absl::Status Query(const std::string& sql, const std::vector<SqlValue>& values,
                     const std::function<void(const SqlRow&)>& on_row);
  int64_t changes() const;                  // rows changed by the last Run
  int64_t steps() const { return steps_; }  // of the virtual machine, in all Run and Query so far

 private:
  explicit Database(sqlite3* db) : db_(db) {}
  absl::StatusOr<sqlite3_stmt*> Prepare(const std::string& sql, const std::vector<SqlValue>& values);
  // A fault of the disk is one of coordinator/store/disk.h.
  absl::Status Error(int code, const std::string& what) const;

  sqlite3* db_;
  int64_t steps_ = 0;
  std::map<std::string, sqlite3_stmt*> statements_;  // by text; few: texts are constants
};

}  // namespace sluice
