// SPDX-License-Identifier: LGPL-2.1-or-later
#include "client/jobs/store/database.hpp"

#include "client/jobs/model/job_error.hpp"
#include "core/base/text.hpp"

#include <cerrno>
#include <cstring>
#include <new>

namespace genv::jobs {

namespace {

// A rollback journal without shared memory also works on NFS. The database holds nothing secret
// from its owner, but may be damaged; so it is not trusted.
constexpr const char* settings = "PRAGMA locking_mode = EXCLUSIVE;"
                                 "PRAGMA journal_mode = DELETE;"
                                 "PRAGMA synchronous = FULL;"
                                 "PRAGMA trusted_schema = OFF;"
                                 "PRAGMA temp_store = MEMORY;"
                                 "PRAGMA cache_size = -1024;"
                                 "PRAGMA journal_size_limit = 1048576;";

} // namespace

Statement::Statement(Database& database, std::string_view text) : database_(database) {
    sqlite3_stmt* statement = nullptr;
    const int result =
        sqlite3_prepare_v3(database.handle(), text.data(), static_cast<int>(text.size()),
                           SQLITE_PREPARE_PERSISTENT, &statement, nullptr);
    statement_.reset(statement);
    check(result);
}

Statement& Statement::restart() {
    rest();
    return *this;
}

Statement& Statement::bind(std::int64_t value) {
    check(sqlite3_bind_int64(statement_.get(), ++parameter_, value));
    return *this;
}

Statement& Statement::bind(std::optional<std::int64_t> value) {
    if (value)
        return bind(*value);
    check(sqlite3_bind_null(statement_.get(), ++parameter_));
    return *this;
}

Statement& Statement::bindBytes(std::string_view bytes) {
    check(sqlite3_bind_blob64(statement_.get(), ++parameter_, bytes.empty() ? "" : bytes.data(),
                              bytes.size(), SQLITE_TRANSIENT));
    return *this;
}

bool Statement::step() {
    column_ = 0;
    const int result = sqlite3_step(statement_.get());
    if (result == SQLITE_ROW)
        return true;
    if (result != SQLITE_DONE)
        check(result);
    rest();
    return false;
}

void Statement::run() {
    while (step()) {
    }
}

void Statement::rest() noexcept {
    if (statement_ == nullptr)
        return;
    sqlite3_reset(statement_.get());
    sqlite3_clear_bindings(statement_.get());
    parameter_ = 0;
}

std::int64_t Statement::integer() {
    return sqlite3_column_int64(statement_.get(), column_++);
}

std::optional<std::int64_t> Statement::optionalInteger() {
    if (sqlite3_column_type(statement_.get(), column_) == SQLITE_NULL) {
        ++column_;
        return std::nullopt;
    }
    return integer();
}

std::string Statement::bytes() {
    const void* const data = sqlite3_column_blob(statement_.get(), column_);
    const int size = sqlite3_column_bytes(statement_.get(), column_++);
    return data == nullptr
               ? std::string()
               : std::string(static_cast<const char*>(data), static_cast<std::size_t>(size));
}

// The message is read before the statement rests, because that may replace it.
void Statement::check(int result) {
    if (result == SQLITE_OK)
        return;
    try {
        database_.failed(result);
    } catch (...) {
        rest();
        throw;
    }
}

Database::Database(const std::filesystem::path& path, const std::filesystem::path& shown)
    : name_(core::escaped(shown.native(), 512)) {
    sqlite3* database = nullptr;
    const int result = sqlite3_open_v2(path.c_str(), &database,
                                       SQLITE_OPEN_READWRITE | SQLITE_OPEN_NOMUTEX, nullptr);
    database_.reset(database);
    if (result != SQLITE_OK)
        failed(result);
    sqlite3_extended_result_codes(database, 1);
    sqlite3_db_config(database, SQLITE_DBCONFIG_DEFENSIVE, 1, nullptr);
    run(settings);
}

void Database::run(const char* text) {
    const int result = sqlite3_exec(database_.get(), text, nullptr, nullptr, nullptr);
    if (result != SQLITE_OK)
        failed(result);
}

std::int64_t Database::integer(std::string_view text) {
    Statement statement(*this, text);
    if (!statement.step())
        broken("a value is missing");
    return statement.integer();
}

std::int64_t Database::lastNumber() const {
    return sqlite3_last_insert_rowid(database_.get());
}

void Database::rollBack() noexcept {
    if (sqlite3_get_autocommit(database_.get()) == 0)
        sqlite3_exec(database_.get(), "ROLLBACK", nullptr, nullptr, nullptr);
}

void Database::failed(int result) const {
    const char* const message = sqlite3_errmsg(database_.get());
    const int systemError = database_ ? sqlite3_system_errno(database_.get()) : 0;
    switch (result & 0xff) {
    case SQLITE_NOTADB:
    case SQLITE_CORRUPT:
        broken(message);
    case SQLITE_FULL:
        fail(JobErrorCode::StorageFailed, "cannot write {}: {}", name_, std::strerror(ENOSPC));
    case SQLITE_BUSY:
    case SQLITE_LOCKED:
        fail(JobErrorCode::StorageFailed, "{} is in use by another program", name_);
    case SQLITE_NOMEM:
        throw std::bad_alloc();
    default:
        break;
    }
    if (systemError != 0)
        fail(JobErrorCode::StorageFailed, "cannot use {}: {} ({})", name_,
             std::strerror(systemError), message);
    fail(JobErrorCode::StorageFailed, "cannot use {}: {}", name_, message);
}

void Database::broken(std::string_view detail) const {
    fail(JobErrorCode::StorageFailed,
         "{} is damaged ({}): restore it from a backup, or move it away to start without its jobs",
         name_, core::printable(detail));
}

} // namespace genv::jobs
