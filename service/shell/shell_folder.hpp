// SPDX-License-Identifier: LGPL-2.1-or-later
// A folder of small files that everybody may read, kept as it is said to be: each file is replaced
// as a whole by rename. What could not be written or removed, also because somebody removed the
// folder, is remembered, and tried again when retry() is called.
#pragma once

#include "core/descriptor.hpp"
#include "core/ports/log.hpp"

#include <cstddef>
#include <filesystem>
#include <functional>
#include <map>
#include <set>
#include <string>

namespace genv::service {

class ShellFolder {
  public:
    /// More of a file is not read.
    static constexpr std::size_t largestFile = 64 << 10;

    /// `consequence` ends the warning about a file that could not be written.
    ShellFolder(std::filesystem::path path, core::Log& log,
                std::string consequence = "shells are told of changes later");

    /// Makes the folder where there is none. What is in it, by name, which is from then on what
    /// should be in it; nothing where it cannot be had yet, and then nothing of it stays.
    const std::map<std::string, std::string>& open();

    /// From now on a file should say this. The name is one plain word without a dot.
    void write(const std::string& name, std::string text);
    /// From now on a file should not be there.
    void remove(const std::string& name);

    /// Told when a file is not as it should be, so that somebody calls retry() later.
    void onUnwritten(std::function<void()> listener) { onUnwritten_ = std::move(listener); }
    /// Makes the files right that are not as they should be, the folder, too. Returns whether all
    /// are.
    bool retry();

  private:
    int openFolder();
    int makeRight(const std::string& name);
    void settle(const std::string& name, int error);

    const std::filesystem::path path_;
    core::Log& log_;
    const std::string consequence_;
    core::Descriptor folder_;
    bool hasBegun_ = false;                    ///< open() was called, whether or not it succeeded
    std::map<std::string, std::string> texts_; ///< what the files should say, by name
    std::set<std::string> unwritten_;          ///< names of files that are not as they should be
    std::function<void()> onUnwritten_;
};

} // namespace genv::service
