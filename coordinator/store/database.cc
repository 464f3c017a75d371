#include "coordinator/store/database.h"

#include <sqlite3.h>

#include <cerrno>

#include "absl/strings/str_cat.h"
#include "coordinator/store/disk.h"
#include "core/base/status.h"

namespace sluice {

int64_t SqlRow::Int(int column) const { return sqlite3_column_int64(statement_, column); }
double SqlRow::Real(int column) const { return sqlite3_column_double(statement_, column); }
bool SqlRow::IsNull(int column) const { return sqlite3_column_type(statement_, column) == SQLITE_NULL; }
std::string SqlRow::Text(int column) const {
  const auto* text = reinterpret_cast<const char*>(sqlite3_column_text(statement_, column));
  return text == nullptr ? ""
                         : std::string(text, static_cast<size_t>(sqlite3_column_bytes(statement_, column)));
}

absl::StatusOr<std::unique_ptr<Database>> Database::Open(const std::string& path) {
  sqlite3* raw = nullptr;
  const int code = sqlite3_open_v2(path.c_str(), &raw,
                                   SQLITE_OPEN_READWRITE | SQLITE_OPEN_CREATE | SQLITE_OPEN_NOMUTEX, nullptr);
  std::unique_ptr<Database> db(new Database(raw));
  if (code != SQLITE_OK) return db->Error(code, absl::StrCat("opening ", path));
  sqlite3_busy_timeout(raw, 10000);
  SLUICE_RETURN_IF_ERROR(Annotate(db->Script("PRAGMA journal_mode=WAL; PRAGMA synchronous=FULL; PRAGMA "
                                             "foreign_keys=ON; PRAGMA journal_size_limit=67108864;"),
                                  absl::StrCat("opening ", path)));
  return db;
}

absl::StatusOr<std::unique_ptr<Database>> Database::OpenToRead(const std::string& path) {
  sqlite3* raw = nullptr;
  const int code = sqlite3_open_v2(path.c_str(), &raw, SQLITE_OPEN_READONLY | SQLITE_OPEN_NOMUTEX, nullptr);
  std::unique_ptr<Database> db(new Database(raw));
  if (code != SQLITE_OK) return db->Error(code, absl::StrCat("opening ", path));
  sqlite3_busy_timeout(raw, 10000);
  return db;
}

Database::~Database() {
  for (auto& [sql, statement] : statements_) sqlite3_finalize(statement);
  sqlite3_close(db_);
}

int64_t Database::changes() const { return sqlite3_changes(db_); }

absl::Status Database::Error(int code, const std::string& what) const {
  const std::string message =
      absl::StrCat(what, ": ", db_ == nullptr ? sqlite3_errstr(code) : sqlite3_errmsg(db_));
  switch (code & 0xff) {
    case SQLITE_FULL:
      return absl::ResourceExhaustedError(message);
    case SQLITE_IOERR: {
      const int error = db_ == nullptr ? 0 : sqlite3_system_errno(db_);
      // Without an errno these are a full disk or a quota too.
      const bool may_be_full =
          code == SQLITE_IOERR_WRITE || code == SQLITE_IOERR_FSYNC || code == SQLITE_IOERR_SHMSIZE;
      if (error == 0 && may_be_full) return absl::ResourceExhaustedError(message);
      return DiskError(error == 0 ? EIO : error, message);
    }
    case SQLITE_READONLY:
      return DiskError(EROFS, message);
    case SQLITE_PERM:
    case SQLITE_CANTOPEN:
      return absl::PermissionDeniedError(message);
    case SQLITE_CORRUPT:
    case SQLITE_NOTADB:
      return absl::DataLossError(message);
    case SQLITE_CONSTRAINT:
      return absl::AlreadyExistsError(message);
    case SQLITE_BUSY:
      return absl::UnavailableError(message);
    default:
      return absl::InternalError(message);
  }
}

absl::Status Database::Script(const std::string& sql) {
  const int code = sqlite3_exec(db_, sql.c_str(), nullptr, nullptr, nullptr);
  return code == SQLITE_OK ? absl::OkStatus() : Error(code, "store");
}

absl::StatusOr<sqlite3_stmt*> Database::Prepare(const std::string& sql, const std::vector<SqlValue>& values) {
  sqlite3_stmt*& statement = statements_[sql];
  if (statement == nullptr) {
    const int code = sqlite3_prepare_v3(db_, sql.c_str(), static_cast<int>(sql.size()),
                                        SQLITE_PREPARE_PERSISTENT, &statement, nullptr);
    if (code != SQLITE_OK) return Error(code, absl::StrCat("store: ", sql));
  }
  sqlite3_reset(statement);
  sqlite3_clear_bindings(statement);
  for (size_t i = 0; i < values.size(); ++i) {
    const int at = static_cast<int>(i) + 1;
    if (const auto* number = std::get_if<int64_t>(&values[i])) sqlite3_bind_int64(statement, at, *number);
    if (const auto* real = std::get_if<double>(&values[i])) sqlite3_bind_double(statement, at, *real);
    if (const auto* text = std::get_if<std::string>(&values[i])) {
      sqlite3_bind_text(statement, at, text->data(), static_cast<int>(text->size()), SQLITE_TRANSIENT);
    }
  }
  return statement;
}

absl::Status Database::Run(const std::string& sql, const std::vector<SqlValue>& values) {
  return Query(sql, values, [](const SqlRow&) {});
}

absl::Status Database::Query(const std::string& sql, const std::vector<SqlValue>& values,
                             const std::function<void(const SqlRow&)>& on_row) {
  SLUICE_ASSIGN_OR_RETURN(sqlite3_stmt * statement, Prepare(sql, values));
  int code;
  while ((code = sqlite3_step(statement)) == SQLITE_ROW) on_row(SqlRow(statement));
  absl::Status status =
      code == SQLITE_DONE ? absl::OkStatus() : Error(sqlite3_extended_errcode(db_), "store");
  steps_ += sqlite3_stmt_status(statement, SQLITE_STMTSTATUS_VM_STEP, /*resetFlg=*/1);
  sqlite3_reset(statement);
  return status;
}

}  // namespace sluice
