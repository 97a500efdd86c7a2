// SPDX-License-Identifier: LGPL-2.1-or-later
// Failed writes of documents and of the files that prompts read are retried until both are right.
#include "service/write_retries.hpp"
#include "tests/core/ledger_fixture.hpp"
#include "tests/service/temporary_folder.hpp"

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <optional>
#include <utility>

namespace genv::tests {
namespace {

class WriteRetries : public LedgerTest {
  protected:
    WriteRetries() {
        haveGpus(2);
        shellFiles.start();
        events.subscribe([this](const core::Event& event) { shellFiles.onEvent(event); });
        activate("7", alice);
        attachCount("7", 2);
        before = store.documents.at("7");
    }

    void letDocumentsFail(bool fail) { store.writesUntilFailure = fail ? 0 : -1; }
    // A file in the place of their folder.
    void letFilesFail(bool fail) const {
        std::filesystem::remove_all(shell);
        if (fail)
            std::ofstream(shell) << "no folder";
    }
    void loseGpu1() { ledger.takeAway("7", "GPU-1", core::Cause::fact(core::Reason::expired())); }
    [[nodiscard]] bool isDocumentWritten() const { return store.documents.at("7") != before; }
    [[nodiscard]] std::string devicesInFile() const {
        std::string words;
        std::ifstream file(shell / "_37");
        file >> words >> words >> words;
        return words;
    }
    [[nodiscard]] std::ptrdiff_t timesLogged(const std::string& line) const {
        return std::ranges::count(log.lines, line);
    }
    void passRetry() { scheduler.pass(std::chrono::seconds{1}); }

    TemporaryFolder folder;
    const std::filesystem::path shell = folder.path() / "shell";
    SilentLog log;
    FakeUsers users;
    FakeScheduler scheduler;
    service::FileStore fileStore{folder.path(), log};
    service::ShellFiles shellFiles{folder.path(), ledger, clock, users, log};
    std::optional<service::WriteRetries> retries{std::in_place, ledger,    fileStore,
                                                 shellFiles,    scheduler, log};
    std::string before; ///< the document with both GPUs
    const std::string success = "the state is written again";
};

TEST_F(WriteRetries, GoOnUntilTheFilesAreWrittenAfterTheDocuments) {
    letDocumentsFail(true);
    letFilesFail(true);
    loseGpu1();
    passRetry();
    EXPECT_FALSE(isDocumentWritten());
    letDocumentsFail(false);
    passRetry();
    EXPECT_TRUE(isDocumentWritten());
    EXPECT_EQ(timesLogged(success), 0);
    letFilesFail(false);
    passRetry();
    EXPECT_EQ(devicesInFile(), "0");
    EXPECT_EQ(timesLogged(success), 1);
}

TEST_F(WriteRetries, GoOnUntilTheDocumentsAreWrittenAfterTheFiles) {
    letDocumentsFail(true);
    letFilesFail(true);
    loseGpu1();
    letFilesFail(false);
    passRetry();
    EXPECT_EQ(devicesInFile(), "0");
    EXPECT_FALSE(isDocumentWritten());
    EXPECT_EQ(timesLogged(success), 0);
    letDocumentsFail(false);
    passRetry();
    EXPECT_TRUE(isDocumentWritten());
    EXPECT_EQ(timesLogged(success), 1);
    passRetry();
    EXPECT_EQ(timesLogged(success), 1) << "nothing is left to retry";
}

TEST_F(WriteRetries, BeginWithWhatFailedBefore) {
    retries.reset();
    letDocumentsFail(true);
    loseGpu1();
    retries.emplace(ledger, fileStore, shellFiles, scheduler, log);
    letDocumentsFail(false);
    EXPECT_FALSE(isDocumentWritten());
    passRetry();
    EXPECT_TRUE(isDocumentWritten());
}

} // namespace
} // namespace genv::tests
