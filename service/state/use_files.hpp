// SPDX-License-Identifier: LGPL-2.1-or-later
// Adapter: keeps what users have used in two files: a lasting one below the state directory, and
// recent changes below the runtime directory. A broken file is set aside beside its place.
//
// The file below the runtime directory also has the id of this boot, since the kernel's is hidden
// from the service. If the file is lost, the use counts as that of an earlier boot.
#pragma once

#include "core/ports/log.hpp"
#include "core/ports/use_store.hpp"
#include "service/loop/worker.hpp"

#include <filesystem>
#include <functional>
#include <memory>
#include <optional>
#include <string>

namespace genv::service {

class UseFiles : public core::UseStore {
  public:
    /// The largest file that is read: more than 80 000 users.
    static constexpr std::size_t maxSize = std::size_t{8} << 20;

    /// The files are `state`/use.json and `runtime`/use.json.
    UseFiles(const std::filesystem::path& state, const std::filesystem::path& runtime,
             core::Log& log, Worker::Post post);

    core::UseRecords read() override;
    [[nodiscard]] std::string boot() const override { return boot_; }
    void write(core::UseRecord record, std::function<void(bool)> done) override;
    void writeNow(const core::UseRecord& record) override;
    void writeRecent(const core::UseRecord& record) override;

  private:
    std::optional<core::UseRecord> readFile(const std::filesystem::path& file);
    void setAside(const std::filesystem::path& file, const std::string& why);
    void report(const std::filesystem::path& file, int error, int& lastError);

    const std::filesystem::path lasting_;
    const std::filesystem::path recent_;
    core::Log& log_;
    std::string boot_;
    int lastLastingError_ = 0; ///< of the last write, which is logged once
    int lastRecentError_ = 0;
    std::unique_ptr<Worker> worker_; ///< null after writeNow()
};

} // namespace genv::service
