// SPDX-License-Identifier: LGPL-2.1-or-later
// A database of jobs in a folder of its own.
#pragma once

#include "client/jobs/store/database.hpp"
#include "client/jobs/store/sqlite_store.hpp"
#include "tests/jobs/samples.hpp"
#include "tests/service/temporary_folder.hpp"

#include <gtest/gtest.h>
#include <sys/stat.h>

#include <filesystem>
#include <fstream>
#include <optional>
#include <sstream>
#include <string>

namespace genv::jobs::tests {

using genv::tests::TemporaryFolder;

inline std::string contentsOf(const std::filesystem::path& path) {
    std::stringstream text;
    text << std::ifstream(path, std::ios::binary).rdbuf();
    return text.str();
}

inline mode_t modeOf(const std::filesystem::path& path) {
    struct stat status {};
    EXPECT_EQ(::lstat(path.c_str(), &status), 0) << path;
    return status.st_mode & 07777;
}

class StoreTest : public testing::Test {
  protected:
    /// Opens the database anew each time.
    SqliteStore& open() {
        store.reset();
        return store.emplace(path);
    }
    std::string refusal() {
        store.reset();
        return errorOf(JobErrorCode::StorageFailed, [&] { store.emplace(path); });
    }
    void runSql(const char* text) {
        store.reset();
        Database(path).run(text);
    }

    TemporaryFolder folder;
    std::filesystem::path path = folder.path() / "jobs.sqlite";
    std::optional<SqliteStore> store;
};

} // namespace genv::jobs::tests
