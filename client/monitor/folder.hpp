// SPDX-License-Identifier: LGPL-2.1-or-later
// A folder that files are written to, on whose path others may have a say: it is held open, belongs
// to this user alone, and what lies in it is replaced whole, never followed.
#pragma once

#include <filesystem>
#include <string_view>

namespace genv::monitor {

class Folder {
  public:
    /// Opens a folder, making what is missing of its path, for this user alone. Throws
    /// std::runtime_error where it is another user's, or others may write to it.
    explicit Folder(const std::filesystem::path& path);
    Folder(const Folder&) = delete;
    Folder& operator=(const Folder&) = delete;
    ~Folder();

    /// The folder of this name in it, made where it is missing.
    [[nodiscard]] Folder below(const char* name) const;
    /// Puts a file with this text there: a reader sees the old or the new one, and a link is
    /// replaced.
    void write(const char* name, std::string_view text) const;

  private:
    Folder(std::filesystem::path path, int descriptor);
    void requireOwn() const;
    [[noreturn]] void failed(const std::filesystem::path& what) const;

    std::filesystem::path path_;
    int descriptor_;
};

} // namespace genv::monitor
