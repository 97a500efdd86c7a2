// SPDX-License-Identifier: LGPL-2.1-or-later
// Adapter: stores the state documents as files below the runtime directory, one for each
// environment. A document is written to a temporary file and renamed, so a reader after a crash
// finds either the old or the new document. The directory is on tmpfs, so nothing is synchronised
// to a disk: environments do not survive a reboot anyway. If the folder is removed while the
// service runs, it is created again.
#pragma once

#include "core/base/descriptor.hpp"
#include "core/ports/log.hpp"
#include "core/ports/store.hpp"

#include <cstddef>
#include <filesystem>
#include <functional>
#include <string>

namespace genv::service {

class FileStore : public core::Store {
  public:
    /// The maximum size of a document. Documents of this service are far smaller.
    static constexpr std::size_t largestDocument = 1 << 20;

    /// Opens `runtime`/environments, and creates it with mode 0700 if necessary. Throws
    /// std::system_error.
    FileStore(const std::filesystem::path& runtime, core::Log& log);

    void write(const core::EnvironmentId& id, const std::string& document) override;
    void remove(const core::EnvironmentId& id) override;
    std::vector<Found> readAll() override;
    void setAside(const std::string& name, const std::string& why) override;
    [[nodiscard]] std::string nameOf(const core::EnvironmentId& id) const override;

    /// Creates the folder again if it was removed. Returns whether it did, in which case the
    /// listener has been called.
    bool restoreFolder();
    /// Sets a listener that is called when the folder was created again and is empty. This may
    /// happen during a write, so the listener must write all documents later.
    void onFolderRestored(std::function<void()> listener) { folderRestored_ = std::move(listener); }

  private:
    int open();
    int replace(const std::string& name, const std::string& document);

    const std::filesystem::path path_;
    std::filesystem::path broken_;
    core::Log& log_;
    core::Descriptor directory_;
    std::function<void()> folderRestored_;
};

} // namespace genv::service
