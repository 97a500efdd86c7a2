// SPDX-License-Identifier: LGPL-2.1-or-later
// A journal file is truncated while it is read. The reading program survives.
#include "service/journal/reader.hpp"
#include "service/journal/unreadable_pages.hpp"
#include "tests/history/journal_folder.hpp"

#include <dlfcn.h>
#include <gtest/gtest.h>
#include <sys/mman.h>
#include <systemd/sd-journal.h>

#include <csignal>
#include <cstdio>
#include <functional>
#include <memory>

namespace genv::tests {
namespace {

// Called before a step through the journal, with the number of the read and of the step.
std::function<void(int read, int step)> beforeStep;
int reads = 0;
int steps = 0;

template <typename Function>
Function* behind(const char* name) {
    return reinterpret_cast<Function*>(::dlsym(RTLD_NEXT, name));
}

} // namespace
} // namespace genv::tests

// Wraps libsystemd's function, so that a test can act between two steps of the reader.
extern "C" int sd_journal_open_directory(sd_journal** journal, const char* path, int flags) {
    ++genv::tests::reads;
    genv::tests::steps = 0;
    return genv::tests::behind<decltype(sd_journal_open_directory)>("sd_journal_open_directory")(
        journal, path, flags);
}

extern "C" int sd_journal_next(sd_journal* journal) {
    genv::tests::beforeStep(genv::tests::reads, ++genv::tests::steps);
    return genv::tests::behind<decltype(sd_journal_next)>("sd_journal_next")(journal);
}

namespace genv::tests {
namespace {

class CutJournal : public testing::Test {
  protected:
    CutJournal() { reads = 0; }

    // Truncates a file to its header.
    void cut(const std::string& name) { std::filesystem::resize_file(folder.file(name), 4096); }
    core::HistoryPage read() {
        core::HistoryFilter query;
        query.until = core::fromMicroseconds(1'000'000'000);
        return service::journal::read({folder.path(), {}}, query, {}, stop);
    }

    JournalFolder folder;
    std::atomic<bool> stop = false;
};

TEST_F(CutJournal, IsReadAgainWithoutTheFileThatWasCut) {
    if (!folder.generate("one", 1, 20) || !folder.generate("two", 101, 30))
        GTEST_SKIP() << "there is no systemd-journal-remote";
    beforeStep = [this](int read, int step) {
        if (read == 1 && step == 5)
            cut("one");
    };
    const core::HistoryPage page = read();
    EXPECT_FALSE(page.failure) << page.failure->what();
    EXPECT_EQ(page.rows.size(), 30U);
    EXPECT_EQ(reads, 2);
}

TEST_F(CutJournal, IsSaidToBeUnreadableWhenItIsCutAgain) {
    if (!folder.generate("one", 1, 20) || !folder.generate("two", 101, 30))
        GTEST_SKIP() << "there is no systemd-journal-remote";
    beforeStep = [this](int read, int step) {
        if (step == 5)
            cut(read == 1 ? "one" : "two");
    };
    const core::HistoryPage page = read();
    ASSERT_TRUE(page.failure);
    EXPECT_EQ(page.failure->code(), core::ErrorCode::NotSupported);
    EXPECT_NE(std::string(page.failure->what()).find("cut short"), std::string::npos);
    EXPECT_TRUE(page.rows.empty());
}

struct Close {
    void operator()(FILE* file) const noexcept { std::fclose(file); }
};

// Reads from a mapped file of zero bytes.
void readNothing() {
    const std::unique_ptr<FILE, Close> file(std::tmpfile());
    const auto* page = static_cast<volatile char*>(
        ::mmap(nullptr, 4096, PROT_READ, MAP_SHARED, ::fileno(file.get()), 0));
    static_cast<void>(*page);
}

TEST(UnreadablePages, StillEndTheProcessWhereTheJournalIsNotRead) {
    testing::FLAGS_gtest_death_test_style = "threadsafe";
    EXPECT_DEATH(
        {
            { const service::journal::UnreadablePages installed; }
            readNothing();
        },
        "");
    EXPECT_DEATH(
        {
            const service::journal::UnreadablePages installed;
            ::raise(SIGBUS);
        },
        "");
}

} // namespace
} // namespace genv::tests
