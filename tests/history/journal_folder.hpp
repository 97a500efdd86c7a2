// SPDX-License-Identifier: LGPL-2.1-or-later
// A folder of journal files as journald writes them.
#pragma once

#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <string>

namespace genv::tests {

class JournalFolder {
  public:
    JournalFolder() {
        std::string name = std::filesystem::temp_directory_path() / "genv-journal.XXXXXX";
        path_ = ::mkdtemp(name.data());
    }
    ~JournalFolder() { std::filesystem::remove_all(path_); }
    JournalFolder(const JournalFolder&) = delete;
    JournalFolder& operator=(const JournalFolder&) = delete;

    [[nodiscard]] const std::filesystem::path& path() const { return path_; }
    [[nodiscard]] std::filesystem::path file(const std::string& name) const {
        return path_ / ("system@" + name + ".journal");
    }

    /// Writes a file of root's records about attachments of alice and bob, one a second from
    /// `firstSecond` on. Returns false if the necessary program is missing.
    bool generate(const std::string& name, int firstSecond, int count) {
        const char* program = "/lib/systemd/systemd-journal-remote";
        if (!std::filesystem::exists(program))
            return false;
        const std::string command =
            std::string(program) + " -o " + file(name).string() + " - 2>/dev/null";
        FILE* pipe = ::popen(command.c_str(), "w");
        for (int i = firstSecond; i < firstSecond + count; ++i)
            std::fprintf(pipe,
                         "__REALTIME_TIMESTAMP=%d000000\n__MONOTONIC_TIMESTAMP=%d000000\n"
                         "_BOOT_ID=0123456789abcdef0123456789abcdef\n_UID=0\n"
                         "MESSAGE_ID=abbad66f316f4f20bd8708fc8c055508\nGENV_UID=%d\n\n",
                         i, i, 1000 + i % 2);
        return ::pclose(pipe) == 0;
    }

  private:
    std::filesystem::path path_;
};

} // namespace genv::tests
