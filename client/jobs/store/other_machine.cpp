// SPDX-License-Identifier: LGPL-2.1-or-later
#include "client/jobs/store/other_machine.hpp"

#include "client/descriptor_functions.hpp"
#include "client/jobs/model/job_error.hpp"
#include "client/jobs/store/schema.hpp"
#include "client/jobs/store/stored_rows.hpp"
#include "core/base/text.hpp"

#include <fcntl.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <cstring>

namespace genv::jobs {

namespace {

namespace fs = std::filesystem;

constexpr int attempts = 20;

/// The files of a database. The owner of the database has it locked for as long as it runs, so that
/// SQLite itself could not read it.
struct Image {
    std::string journal;
    std::string database;

    bool operator==(const Image&) const = default;
};

fs::path journalOf(const fs::path& database) {
    return database.native() + "-journal";
}

[[noreturn]] void failed(std::string_view verb, const fs::path& path) {
    fail(JobErrorCode::StorageFailed, "cannot {} {}: {}", verb, core::escaped(path.native(), 512),
         std::strerror(errno));
}

std::string contents(const fs::path& path, bool mayLack) {
    const client::Descriptor file(::open(path.c_str(), O_RDONLY | O_NONBLOCK | O_CLOEXEC));
    if (!file.isOpen() && errno == ENOENT && mayLack)
        return {};
    if (!file.isOpen())
        failed("read", path);
    std::string text;
    std::array<char, 65536> part{};
    ssize_t size = 0;
    while ((size = ::read(file.get(), part.data(), part.size())) > 0)
        text.append(part.data(), static_cast<std::size_t>(size));
    if (size < 0)
        failed("read", path);
    return text;
}

Image imageOf(const fs::path& database) {
    std::string journal = contents(journalOf(database), true);
    return {.journal = std::move(journal), .database = contents(database, false)};
}

// Two equal images in a row have no change in between, and the journal completes one that is half
// made.
Image stableImage(const fs::path& database) {
    Image image = imageOf(database);
    for (int attempt = 0; attempt < attempts; ++attempt) {
        Image next = imageOf(database);
        if (next == image)
            return image;
        image = std::move(next);
    }
    fail(JobErrorCode::StorageFailed, "cannot read {}: it changes all the time; try again",
         core::escaped(database.native(), 512));
}

/// A folder of its own for the copy.
class TemporaryFolder {
  public:
    TemporaryFolder() : path_(fs::temp_directory_path() / "genv-jobs-XXXXXX") {
        if (::mkdtemp(path_.data()) == nullptr)
            failed("create", path_);
    }
    TemporaryFolder(const TemporaryFolder&) = delete;
    TemporaryFolder& operator=(const TemporaryFolder&) = delete;
    ~TemporaryFolder() {
        std::error_code ignored;
        fs::remove_all(path_, ignored);
    }

    [[nodiscard]] fs::path path() const { return path_; }

  private:
    std::string path_;
};

void write(const fs::path& path, std::string_view text) {
    const client::Descriptor file(
        ::open(path.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0600));
    if (!file.isOpen() || !client::writeAll(file.get(), text))
        failed("write", path);
}

} // namespace

std::vector<Job> jobsOfOtherMachine(const fs::path& path) {
    const Image image = stableImage(path);
    if (image.database.empty())
        return {};
    const TemporaryFolder folder;
    const fs::path copy = folder.path() / path.filename();
    write(copy, image.database);
    if (!image.journal.empty())
        write(journalOf(copy), image.journal);
    Database database(copy, path);
    upgrade(database);
    return readJobs(database);
}

} // namespace genv::jobs
