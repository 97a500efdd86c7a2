// SPDX-License-Identifier: LGPL-2.1-or-later
// A folder of small files, each for one user or for everyone, kept up to date. Each file is
// replaced as a whole by rename. Failed writes and removals, for example because the folder was
// removed, are remembered and retried in retry().
#pragma once

#include "core/base/descriptor.hpp"
#include "core/ports/log.hpp"
#include "service/shell/file_reader.hpp"

#include <cstddef>
#include <filesystem>
#include <functional>
#include <map>
#include <set>
#include <string>

namespace genv::service {

class ShellFolder {
  public:
    struct Contents {
        std::string text;
        FileReader reader; ///< who may read it, besides root
    };

    /// The maximum number of bytes to read from a file.
    static constexpr std::size_t largestFile = 64 << 10;

    /// `consequence` is the end of the warning about a file that could not be written.
    ShellFolder(std::filesystem::path path, core::Log& log,
                std::string consequence = "shells learn of changes later");

    /// Creates the folder if necessary. Returns its files by name; from then on, these are the
    /// desired contents. Returns nothing if the folder cannot be opened yet. Its files are then
    /// removed later.
    const std::map<std::string, Contents>& open();

    /// Sets the desired contents of a file. The name must be one plain word without a dot.
    void write(const std::string& name, Contents contents);
    /// Declares that a file should not exist.
    void remove(const std::string& name);

    /// Sets a listener for files that are out of date. The listener must arrange a later call of
    /// retry().
    void onUnwritten(std::function<void()> listener) { onUnwritten_ = std::move(listener); }
    /// Retries failed writes, including the creation of the folder. Returns whether all files are
    /// up to date.
    bool retry();

  private:
    int openFolder();
    int makeRight(const std::string& name);
    int replaceFile(const std::string& name, const Contents& contents);
    void settle(const std::string& name, int error);

    const std::filesystem::path path_;
    core::Log& log_;
    const std::string consequence_;
    core::Descriptor folder_;
    bool hasBegun_ = false;                 ///< open() was called, even if it failed
    bool hasWarned_ = false;                ///< that every user can read the files
    std::map<std::string, Contents> files_; ///< desired contents, by name
    std::set<std::string> unwritten_;       ///< names of files that are out of date
    std::function<void()> onUnwritten_;
};

} // namespace genv::service
