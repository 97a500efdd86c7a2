// SPDX-License-Identifier: LGPL-2.1-or-later
// A folder for written files, whose path may be under the control of other users. The folder is
// held open and belongs to this user only. Files in it are replaced atomically, and links are not
// followed.
#pragma once

#include <filesystem>
#include <string_view>

namespace genv::monitor {

class Folder {
  public:
    /// Opens a folder, and creates the missing part of its path for this user only. Throws
    /// std::runtime_error if the folder belongs to another user, or if others may write to it.
    explicit Folder(const std::filesystem::path& path);
    Folder(const Folder&) = delete;
    Folder& operator=(const Folder&) = delete;
    ~Folder();

    /// Returns the subfolder with this name, and creates it if it is missing.
    [[nodiscard]] Folder below(const char* name) const;
    /// Writes a file atomically: a reader sees either the old or the new text, and a link is
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
