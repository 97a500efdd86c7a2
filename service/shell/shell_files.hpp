// SPDX-License-Identifier: LGPL-2.1-or-later
// The prompt files: what a shell reads at each prompt to learn, without a process and without the
// bus, which devices its environment has and what others did to them. One small file for each
// environment in `runtime`/shell, named by its escaped id, replaced by rename in the same turn of
// the loop as the change, and so before the reply.
//
// Line 1: a sequence number (microseconds) that grows with every change, and when the environment
// began (microseconds since the epoch), 0 in the file of one that has ended. Line 2: the value of
// CUDA_VISIBLE_DEVICES. Then at most eight lines "SEQUENCE SENTENCE", the newest last: what
// somebody else, a rule, a lease or a fault did, what a wait brought, and which leases end soon,
// for as long as that is so; and whatever else its owner should hear (shell_news.hpp).
//
// Everything in a file is derived, and readable by all. A file that cannot be written costs a line
// in the log, and is written later (shell_folder.hpp).
#pragma once

#include "core/events.hpp"
#include "core/ledger.hpp"
#include "core/ports/clock.hpp"
#include "core/ports/log.hpp"
#include "core/ports/users.hpp"
#include "core/recovery.hpp"
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
    /// So many sentences are kept for an environment.
    static constexpr std::size_t mostSentences = 8;
    /// So many files of environments that somebody ended are kept.
    static constexpr std::size_t mostEnded = 256;

    ShellFiles(const std::filesystem::path& runtime, const core::Ledger& ledger,
               const core::Clock& clock, core::Users& users, core::Log& log);

    /// Brings the folder in step with the ledger, once its environments are known: a file that says
    /// the same already stays as it is, one of an environment that is gone goes.
    /// What `expired` while the service was down is told.
    void start(const std::vector<core::ExpiredLease>& expired = {});

    /// Whether isolation is in force, before start(); afterwards an event tells. CUDA counts the
    /// devices that it can open, so files name them by UUID then.
    void isolated(bool isIsolated) { isIsolated_ = isIsolated; }

    /// Hears an event of the ledger, after start().
    void onEvent(const core::Event& event);

    /// Told when a file could not be written or removed, so that somebody calls retryWrites()
    /// later.
    void onUnwritten(std::function<void()> listener) { folder_.onUnwritten(std::move(listener)); }
    /// Makes the files right that could not be written, the folder, too. Returns whether all are.
    bool retryWrites() { return folder_.retry(); }

    /// Adds a sentence for the next prompt of an environment, told with the name of who caused it;
    /// nothing where the environment has no file.
    void tell(const core::EnvironmentId& id, const core::Cause& cause,
              const std::function<std::string(const std::string& actor)>& sentence);

  private:
    /// That leases end soon. After a restart of the service it is a sentence like any other.
    struct Warning {
        core::BootTime end;
        std::set<core::DeviceUuid> devices; ///< none: the environment's
    };
    struct Sentence {
        std::uint64_t sequence = 0;
        std::string text;
        std::optional<Warning> warning;
    };
    struct File {
        std::uint64_t sequence = 0;
        std::uint64_t began = 0; ///< 0: it has ended
        std::string devices;
        std::deque<Sentence> sentences;
    };
    /// Devices that came or went by the same cause, until the change is whole.
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
    void update(const core::EnvironmentId& id);
    void updateAll();
    void conclude(const std::string& label, const core::Cause& cause);
    void say(File& file, std::string sentence, std::optional<Warning> warning = std::nullopt);
    void sayWithActor(const std::string& label, File& file, const core::Cause& cause,
                      const std::function<std::string(const std::string& actor)>& sentence);
    void dropOutdatedWarnings(const core::EnvironmentId& id);
    [[nodiscard]] std::string sayWarning(const core::Environment& environment,
                                         const Warning& warning) const;
    [[nodiscard]] std::string devicesOf(const core::Environment& environment) const;
    [[nodiscard]] bool machineHasInstances() const;
    [[nodiscard]] std::uint64_t nextSequence();

    void readFolder();
    static std::optional<File> parse(std::string_view text);
    void write(const std::string& label, const File& file);
    void remove(std::string label); // by value: it may be a key of files_
    void rememberEnded(const std::string& label);

    const core::Ledger& ledger_;
    const core::Clock& clock_;
    core::Users& users_;
    ShellFolder folder_;
    std::map<std::string, File> files_; ///< by label
    std::deque<std::string> ended_;     ///< labels, the oldest first
    std::map<core::EnvironmentId, std::vector<Change>> changes_;
    std::uint64_t lastSequence_ = 0;
    bool hasInstances_ = false;
    bool isIsolated_ = false;
};

} // namespace genv::service
