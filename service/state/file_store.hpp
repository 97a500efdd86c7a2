// SPDX-License-Identifier: LGPL-2.1-or-later
// Adapter: the state documents as files below the runtime directory, one per environment. A
// document is written to a temporary file and renamed, so that whoever reads after a crash finds
// the old one or the new one. The directory is on tmpfs, so nothing is synchronised to a disk: an
// environment cannot outlive a reboot anyway. A folder that somebody removes while the service runs
// is made again.
#pragma once

#include "core/descriptor.hpp"
#include "core/ports/log.hpp"
#include "core/ports/store.hpp"

#include <cstddef>
#include <filesystem>
#include <functional>
#include <string>

namespace genv::service {

class FileStore : public core::Store {
  public:
    /// No document that this service writes comes near this size.
    static constexpr std::size_t largestDocument = 1 << 20;

    /// Opens `runtime`/environments, which it makes with mode 0700. Throws std::system_error.
    FileStore(const std::filesystem::path& runtime, core::Log& log);

    void write(const core::EnvironmentId& id, const std::string& document) override;
    void remove(const core::EnvironmentId& id) override;
    std::vector<Found> readAll() override;
    void setAside(const std::string& name, const std::string& why) override;
    [[nodiscard]] std::string nameOf(const core::EnvironmentId& id) const override;

    /// Makes the folder again where somebody removed it. Returns whether it did; the listener was
    /// told then.
    bool restoreFolder();
    /// Told when the folder is there again and empty, also amid a write: all documents must be
    /// written again, later.
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
