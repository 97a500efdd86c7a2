// SPDX-License-Identifier: LGPL-2.1-or-later
// The prompt files. A shell reads its file at each prompt and learns, without starting a process
// and without the bus, which devices its environment has and what other users did to them. Each
// environment has one small file in `runtime`/shell, named by its escaped id. It is replaced by
// rename in the same iteration of the loop as the change, and therefore before the reply.
//
// Line 1 has a sequence number (microseconds) that grows with every change, and the start time of
// the environment (microseconds since the epoch), or 0 if the environment has ended. Line 2 is the
// value of CUDA_VISIBLE_DEVICES. At most eight lines "SEQUENCE SENTENCE" follow, the newest last.
// They report changes made by another user, a rule, a lease or a fault, the result of a wait,
// leases that end soon (as long as this is true), and other news for the owner (shell_news.hpp).
//
// All contents are derived from the ledger. Only the environment's owner can read them, because a
// sentence may name programs. If a file cannot be written, a line is logged and the file is written
// later (shell_folder.hpp).
#pragma once

#include "core/ledger/events.hpp"
#include "core/ledger/ledger_view.hpp"
#include "core/ledger/recovery.hpp"
#include "core/ports/clock.hpp"
#include "core/ports/log.hpp"
#include "core/ports/users.hpp"
#include "service/shell/shell_folder.hpp"

#include <cstddef>
#include <cstdint>
#include <deque>
#include <filesystem>
#include <functional>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <vector>

namespace genv::service {

class ShellFiles {
  public:
    /// The maximum number of sentences per environment.
    static constexpr std::size_t maxSentences = 8;
    /// The maximum number of files of environments that somebody ended.
    static constexpr std::size_t maxEnded = 256;

    ShellFiles(const std::filesystem::path& runtime, const core::LedgerView& ledger,
               const core::Clock& clock, core::Users& users, core::Log& log);

    /// Synchronizes the folder with the ledger, once its environments are known. Files that are
    /// already up to date stay unchanged. Files of environments that no longer exist are removed.
    /// Reports the leases that `expired` while the service was down.
    void start(const std::vector<core::ExpiredLease>& expired = {});

    /// Sets whether isolation is in force. Call this before start(); later changes arrive as
    /// events. CUDA counts only the devices that it can open, so files name devices by UUID under
    /// isolation.
    void isolated(bool isIsolated) { isIsolated_ = isIsolated; }

    /// Handles an event of the ledger, after start().
    void onEvent(const core::Event& event);

    /// Sets a listener for failures to write or remove a file. The listener must arrange a later
    /// call of retryWrites().
    void onUnwritten(std::function<void()> listener) { folder_.onUnwritten(std::move(listener)); }
    /// Retries failed writes, including the creation of the folder. Returns whether all files are
    /// up to date.
    bool retryWrites() { return folder_.retry(); }

    /// Adds a sentence for the next prompt of an environment. The sentence receives the name of the
    /// user who caused it. Does nothing if the environment has no file.
    void notify(const core::EnvironmentId& id, const core::Cause& cause,
                const std::function<std::string(const std::string& actor)>& sentence);

  private:
    /// A warning that leases end soon. After a restart of the service, it is a sentence like any
    /// other.
    struct Warning {
        core::BootTime end;
        std::set<core::DeviceUuid> devices; ///< empty: the environment's lease
    };
    struct Sentence {
        std::uint64_t sequence = 0;
        std::string text;
        std::optional<Warning> warning;
    };
    struct File {
        std::uint64_t sequence = 0;
        std::uint64_t began = 0; ///< 0: the environment has ended
        std::string devices;
        std::deque<Sentence> sentences;
        core::Uid owner = 0; ///< of the environment; root if it ended unknown to this service
    };
    /// Devices attached or detached for the same cause, collected until the change is complete.
    struct Change {
        bool attached = false;
        core::Cause cause;
        std::vector<core::DeviceIndex> devices;
    };

    void on(const core::EnvironmentAdded& event);
    void on(const core::EnvironmentRemoved& event);
    void on(const core::EnvironmentChanged& event);
    void on(const core::Attached& event);
    void on(const core::Detached& event);
    void on(const core::DeviceAdded& event);
    void on(const core::DeviceRemoved& event);
    void on(const core::WaitGranted& event);
    void on(const core::LeaseEnding& event);
    void on(const core::IsolationChanged& event);
    template <typename Other>
    void on(const Other& /*event*/) {}

    void note(const core::EnvironmentId& id, bool attached, const core::Cause& cause,
              core::DeviceIndex index);
    void reportLingering(const core::EnvironmentId& id);
    static std::string describeKept(const core::EnvironmentRecord& environment);
    void update(const core::EnvironmentId& id);
    void updateAll();
    void conclude(const std::string& label, const core::Cause& cause);
    [[nodiscard]] bool hasFreshSentence(const std::string& label);
    void end(File& file);
    void append(File& file, std::string sentence, std::optional<Warning> warning = std::nullopt);
    void appendWithActor(const std::string& label, File& file, const core::Cause& cause,
                         const std::function<std::string(const std::string& actor)>& sentence);
    void dropOutdatedWarnings(const core::EnvironmentId& id);
    [[nodiscard]] std::string describeWarning(const core::EnvironmentRecord& environment,
                                              const Warning& warning) const;
    [[nodiscard]] std::string devicesOf(const core::EnvironmentRecord& environment) const;
    [[nodiscard]] bool machineHasInstances() const;
    [[nodiscard]] std::uint64_t nextSequence();

    void readFolder();
    static std::optional<File> parse(std::string_view text);
    void write(const std::string& label, const File& file);
    void remove(std::string label); // by value: it may be a key of files_
    void rememberEnded(const std::string& label);

    const core::LedgerView& ledger_;
    const core::Clock& clock_;
    core::Users& users_;
    ShellFolder folder_;
    std::map<std::string, File> files_; ///< by label
    std::deque<std::string> ended_;     ///< labels, oldest first
    std::map<core::EnvironmentId, std::vector<Change>> changes_;
    std::uint64_t lastSequence_ = 0;
    bool hasInstances_ = false;
    bool isIsolated_ = false;
};

} // namespace genv::service
