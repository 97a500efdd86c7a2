// SPDX-License-Identifier: LGPL-2.1-or-later
// SQLite with owners for its handles, and with errors that name the file and what to do.
#pragma once

#include <sqlite3.h>

#include <cstdint>
#include <filesystem>
#include <memory>
#include <optional>
#include <string>
#include <string_view>

namespace genv::jobs {

class Database;

/// A prepared statement, kept for as long as its database is used. Its values are bound in order,
/// and then read in order, row by row.
class Statement {
  public:
    Statement(Database& database, std::string_view text);

    /// Starts anew. Each call binds the next parameter.
    Statement& restart();
    Statement& bind(std::int64_t value);
    Statement& bind(std::optional<std::int64_t> value);
    Statement& bindBytes(std::string_view bytes);
    /// Goes to the next row. Returns false after the last one; the statement is then at rest.
    bool step();
    /// For a statement without rows.
    void run();
    void rest() noexcept;

    // The next column of the row.
    [[nodiscard]] std::int64_t integer();
    [[nodiscard]] std::optional<std::int64_t> optionalInteger();
    [[nodiscard]] std::string bytes();

  private:
    struct Finalize {
        void operator()(sqlite3_stmt* statement) const noexcept { sqlite3_finalize(statement); }
    };

    void check(int result);

    Database& database_;
    std::unique_ptr<sqlite3_stmt, Finalize> statement_;
    int parameter_ = 0;
    int column_ = 0;
};

/// A database file. Functions throw JobError (StorageFailed).
class Database {
  public:
    /// Opens a file that exists, and keeps others out. Errors name the second path, of which the
    /// file may be a copy.
    explicit Database(const std::filesystem::path& path) : Database(path, path) {}
    Database(const std::filesystem::path& path, const std::filesystem::path& shown);

    void run(const char* text);
    /// The value of a statement with one row.
    [[nodiscard]] std::int64_t integer(std::string_view text);
    [[nodiscard]] std::int64_t lastNumber() const;
    /// The path for errors, escaped.
    [[nodiscard]] const std::string& name() const { return name_; }
    [[nodiscard]] sqlite3* handle() const { return database_.get(); }
    /// Ends a transaction that was not committed. Does not throw.
    void rollBack() noexcept;
    /// Throws the error of the last call.
    [[noreturn]] void failed(int result) const;
    /// Throws: the file is no database, or its contents make no sense.
    [[noreturn]] void broken(std::string_view detail) const;

  private:
    struct Close {
        void operator()(sqlite3* database) const noexcept { sqlite3_close_v2(database); }
    };

    std::string name_;
    std::unique_ptr<sqlite3, Close> database_;
};

/// A transaction, undone by its destructor unless it was committed.
class Transaction {
  public:
    explicit Transaction(Database& database) : database_(database) {
        database.run("BEGIN EXCLUSIVE");
    }
    Transaction(const Transaction&) = delete;
    Transaction& operator=(const Transaction&) = delete;
    ~Transaction() { database_.rollBack(); }

    void commit() { database_.run("COMMIT"); }

  private:
    Database& database_;
};

} // namespace genv::jobs
