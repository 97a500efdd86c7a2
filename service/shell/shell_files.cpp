// SPDX-License-Identifier: LGPL-2.1-or-later
#include "service/shell/shell_files.hpp"

#include "core/base/text.hpp"
#include "core/model/visible_devices.hpp"
#include "core/parking/parking_sentences.hpp"
#include "core/sentences/granted_sentence.hpp"
#include "core/sentences/sentences.hpp"
#include "service/state/label.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <set>
#include <string_view>
#include <utility>
#include <variant>

namespace genv::service {

namespace {

// Removes a leading number and the following space from a line.
bool readNumber(std::string_view& line, std::uint64_t& number) {
    const auto [end, error] = std::from_chars(line.data(), line.data() + line.size(), number);
    if (error != std::errc{})
        return false;
    line.remove_prefix(static_cast<std::size_t>(end - line.data()));
    if (!line.empty() && line.front() == ' ')
        line.remove_prefix(1);
    return true;
}

// Returns the lease of a device or, if `device` is null, of the environment.
std::optional<core::Lease> leaseOf(const core::EnvironmentRecord& environment,
                                   const core::DeviceUuid* device) {
    if (device == nullptr)
        return environment.lease;
    const core::DeviceAttachment* attachment = environment.attachmentTo(*device);
    return attachment == nullptr ? std::nullopt : attachment->lease;
}

} // namespace

ShellFiles::ShellFiles(const std::filesystem::path& runtime, const core::LedgerView& ledger,
                       const core::Clock& clock, core::Users& users, core::Log& log)
    : ledger_(ledger), clock_(clock), users_(users), folder_(runtime / "shell", log) {}

void ShellFiles::start(const std::vector<core::ExpiredLease>& expired) {
    hasInstances_ = machineHasInstances();
    readFolder();
    for (const core::ExpiredLease& lease : expired) {
        const core::Cause cause = core::Cause::fact(core::Reason::expired());
        if (lease.device)
            note(lease.environment, false, cause, *lease.device);
        else
            conclude(labelOf(lease.environment), cause);
    }
    std::set<std::string> living;
    for (const auto& [sequence, environment] : ledger_.environments())
        living.insert(labelOf(environment.id));
    std::vector<std::pair<std::uint64_t, std::string>> ended;
    for (auto file = files_.begin(); file != files_.end();) {
        const auto current = file++;
        if (living.contains(current->first))
            continue;
        if (current->second.began == 0)
            ended.emplace_back(current->second.sequence, current->first);
        else
            remove(current->first);
    }
    std::sort(ended.begin(), ended.end());
    for (const auto& [sequence, label] : ended)
        rememberEnded(label);
    updateAll();
}

void ShellFiles::readFolder() {
    std::vector<std::string> broken;
    std::vector<std::string> exposed;
    for (const auto& [label, contents] : folder_.open()) {
        std::optional<File> file = parse(contents.text);
        if (!file) {
            broken.push_back(label);
            continue;
        }
        lastSequence_ = std::max(lastSequence_, file->sequence);
        file->owner = contents.reader.value_or(0);
        if (!contents.reader) // it lacks its access control list
            exposed.push_back(label);
        files_[label] = std::move(*file);
    }
    for (const std::string& label : broken)
        folder_.remove(label);
    for (const std::string& label : exposed)
        write(label, files_[label]);
}

std::optional<ShellFiles::File> ShellFiles::parse(std::string_view text) {
    const auto line = [&text] {
        const std::string_view found = text.substr(0, text.find('\n'));
        text.remove_prefix(std::min(text.size(), found.size() + 1));
        return found;
    };
    File file;
    std::string_view first = line();
    if (!readNumber(first, file.sequence) || !readNumber(first, file.began))
        return std::nullopt;
    file.devices = line();
    while (!text.empty() && file.sentences.size() < maxSentences) {
        std::string_view rest = line();
        Sentence sentence;
        if (readNumber(rest, sentence.sequence)) {
            sentence.text = core::printable(rest);
            file.sentences.push_back(std::move(sentence));
        }
    }
    return file;
}

void ShellFiles::onEvent(const core::Event& event) {
    std::visit([this](const auto& specific) { on(specific); }, event);
}

void ShellFiles::on(const core::EnvironmentAdded& event) {
    update(event.environment);
}

void ShellFiles::on(const core::EnvironmentChanged& event) {
    if (event.field == core::EnvironmentField::Devices)
        update(event.environment);
    if (event.field == core::EnvironmentField::Devices ||
        event.field == core::EnvironmentField::Expires)
        dropOutdatedWarnings(event.environment);
    if (event.field == core::EnvironmentField::Lingering)
        reportLingering(event.environment);
}

// Tells the user of a command which processes it has left behind (client/watch).
void ShellFiles::reportLingering(const core::EnvironmentId& id) {
    const core::EnvironmentRecord* environment = ledger_.find(id);
    if (environment == nullptr || !environment->isLingering())
        return;
    notify(id, core::Cause::fact(core::Reason::user()),
           [sentence = describeKept(*environment)](const std::string&) { return sentence; });
}

std::string ShellFiles::describeKept(const core::EnvironmentRecord& environment) {
    if (environment.hasParked()) {
        core::NamedProcesses processes;
        for (const core::ParkedProcess& process : environment.parking->processes)
            processes.emplace(process.identity.pid, process.command);
        return core::describeKeptParked(environment.id, environment.parking->bytes(), processes);
    }
    std::vector<core::Pid> pids;
    for (const core::RootProcess& process : environment.processes)
        pids.push_back(process.identity.pid);
    std::sort(pids.begin(), pids.end());
    return core::describeKept(environment.id, environment.deviceIndices(), pids);
}

void ShellFiles::on(const core::EnvironmentRemoved& event) {
    changes_.erase(event.environment);
    const std::string label = labelOf(event.environment);
    if (event.cause.isNews()) {
        conclude(label, event.cause);
    } else if (hasFreshSentence(label)) {
        end(files_[label]);
        write(label, files_[label]);
    } else {
        remove(label);
        return;
    }
    rememberEnded(label);
}

// A program that watches the file (client/watch) may not have read a sentence that is so new, such
// as the one that says why a rule ended the last process. It does not show the end of a wait.
bool ShellFiles::hasFreshSentence(const std::string& label) {
    const auto found = files_.find(label);
    if (found == files_.end() || found->second.sentences.empty())
        return false;
    constexpr std::uint64_t freshMicroseconds = 10'000'000;
    const Sentence& last = found->second.sentences.back();
    return last.text.find(core::grantedAfter) == std::string::npos &&
           nextSequence() - last.sequence < freshMicroseconds;
}

void ShellFiles::end(File& file) {
    std::erase_if(file.sentences, [](const Sentence& each) { return each.warning.has_value(); });
    file.sequence = nextSequence();
    file.began = 0;
    file.devices = "-1";
}

void ShellFiles::conclude(const std::string& label, const core::Cause& cause) {
    File& file = files_[label];
    end(file);
    appendWithActor(label, file, cause, [cause](const std::string& actor) {
        return core::describeEnd(cause.reason.text(), actor);
    });
    write(label, file);
}

void ShellFiles::on(const core::Attached& event) {
    note(event.environment, true, event.cause, event.attachment.device.index);
}

void ShellFiles::on(const core::Detached& event) {
    note(event.environment, false, event.cause, event.attachment.device.index);
}

// Reports a grant after a wait. The shell that waited receives a reply and skips this sentence; the
// environment's other shells show it.
void ShellFiles::on(const core::WaitGranted& event) {
    if (!event.lasted)
        return;
    const std::string label = labelOf(event.environment);
    const auto found = files_.find(label);
    if (found == files_.end() || event.devices.empty())
        return;
    File& file = found->second;
    // An administrator requested the devices, and the previous sentence already says so.
    if (!file.sentences.empty() && file.sentences.back().sequence == file.sequence)
        return;
    std::vector<core::DeviceIndex> devices;
    for (const core::DeviceFacts& device : event.devices)
        devices.push_back(device.index);
    std::sort(devices.begin(), devices.end());
    file.sequence = nextSequence();
    append(file, core::describeGrant(devices, event.waited));
    write(label, file);
}

// Uses one sentence for all devices whose leases end at the same time, and for all warnings about
// it.
void ShellFiles::on(const core::LeaseEnding& event) {
    const std::string label = labelOf(event.environment);
    const core::EnvironmentRecord* environment = ledger_.find(event.environment);
    const auto found = files_.find(label);
    if (environment == nullptr || found == files_.end())
        return;
    Warning warning;
    if (event.device)
        warning.devices.insert(event.device->uuid);
    const std::optional<core::Lease> lease =
        leaseOf(*environment, event.device ? &event.device->uuid : nullptr);
    if (!lease)
        return;
    warning.end = lease->until;
    File& file = found->second;
    std::erase_if(file.sentences, [&](Sentence& each) {
        if (!each.warning || each.warning->end != warning.end ||
            each.warning->devices.empty() != warning.devices.empty())
            return false;
        warning.devices.merge(each.warning->devices);
        return true;
    });
    file.sequence = nextSequence();
    std::string sentence = describeWarning(*environment, warning);
    append(file, std::move(sentence), std::move(warning));
    write(label, file);
}

void ShellFiles::dropOutdatedWarnings(const core::EnvironmentId& id) {
    const std::string label = labelOf(id);
    const core::EnvironmentRecord* environment = ledger_.find(id);
    const auto found = files_.find(label);
    if (environment == nullptr || found == files_.end())
        return;
    const auto stands = [&](const core::DeviceUuid* device, const Warning& warning) {
        const std::optional<core::Lease> lease = leaseOf(*environment, device);
        return lease && lease->until == warning.end;
    };
    bool changed = false;
    std::erase_if(found->second.sentences, [&](Sentence& each) {
        if (!each.warning)
            return false;
        Warning& warning = *each.warning;
        if (warning.devices.empty()) {
            const bool outdated = !stands(nullptr, warning);
            changed = changed || outdated;
            return outdated;
        }
        if (std::erase_if(warning.devices, [&](const core::DeviceUuid& device) {
                return !stands(&device, warning);
            }) == 0)
            return false;
        changed = true;
        each.text = describeWarning(*environment, warning);
        return warning.devices.empty();
    });
    if (changed)
        write(label, found->second);
}

std::string ShellFiles::describeWarning(const core::EnvironmentRecord& environment,
                                        const Warning& warning) const {
    std::vector<core::DeviceIndex> devices;
    for (const core::DeviceAttachment& attachment : environment.attachments) {
        if (warning.devices.contains(attachment.device.uuid))
            devices.push_back(attachment.device.index);
    }
    std::sort(devices.begin(), devices.end());
    return core::describeLeaseEnding(
        devices, core::wallEnd({{}, warning.end}, clock_.bootNow(), clock_.wallNow()));
}

// When the first instance appears or the last one disappears, the values of all environments
// change.
void ShellFiles::on(const core::DeviceAdded& /*event*/) {
    if (std::exchange(hasInstances_, machineHasInstances()) != hasInstances_)
        updateAll();
}

void ShellFiles::on(const core::DeviceRemoved& /*event*/) {
    if (std::exchange(hasInstances_, machineHasInstances()) != hasInstances_)
        updateAll();
}

void ShellFiles::on(const core::IsolationChanged& event) {
    isolated(event.inForce != core::IsolationMode::None);
    updateAll();
}

void ShellFiles::note(const core::EnvironmentId& id, bool attached, const core::Cause& cause,
                      core::DeviceIndex index) {
    const core::EnvironmentRecord* environment = ledger_.find(id);
    const auto file = files_.find(labelOf(id));
    // The first file of a new environment already lists its devices, so they need no sentence.
    if (!cause.isNews() || environment == nullptr || file == files_.end() ||
        file->second.devices == devicesOf(*environment))
        return;
    std::vector<Change>& changes = changes_[id];
    const auto same = std::find_if(changes.begin(), changes.end(), [&](const Change& change) {
        return change.attached == attached && change.cause.reason == cause.reason &&
               change.cause.actor == cause.actor;
    });
    if (same != changes.end())
        same->devices.push_back(index);
    else
        changes.push_back({attached, cause, {index}});
}

void ShellFiles::update(const core::EnvironmentId& id) {
    const core::EnvironmentRecord* environment = ledger_.find(id);
    if (environment == nullptr)
        return;
    const std::string label = labelOf(id);
    const std::uint64_t began = core::toMicroseconds(environment->created);
    const std::string devices = devicesOf(*environment);
    File& file = files_[label];
    if (file.began == began && file.devices == devices && file.owner == environment->uid) {
        changes_.erase(id);
        return;
    }
    if (file.began != began) { // the id has been reused
        std::erase(ended_, label);
        file.sentences.clear();
    }
    file.began = began;
    file.owner = environment->uid;
    file.devices = devices;
    file.sequence = nextSequence();
    for (Change& change : changes_[id]) {
        std::sort(change.devices.begin(), change.devices.end());
        appendWithActor(label, file, change.cause, [change](const std::string& actor) {
            return core::describeChange(change.devices, change.attached, change.cause.reason.text(),
                                        actor);
        });
    }
    changes_.erase(id);
    write(label, file);
}

void ShellFiles::updateAll() {
    for (const auto& [sequence, environment] : ledger_.environments())
        update(environment.id);
}

void ShellFiles::append(File& file, std::string sentence, std::optional<Warning> warning) {
    file.sentences.push_back({file.sequence, std::move(sentence), std::move(warning)});
    if (file.sentences.size() > maxSentences)
        file.sentences.pop_front();
}

void ShellFiles::notify(const core::EnvironmentId& id, const core::Cause& cause,
                        const std::function<std::string(const std::string& actor)>& sentence) {
    const std::string label = labelOf(id);
    const auto found = files_.find(label);
    if (found == files_.end())
        return;
    found->second.sequence = nextSequence();
    appendWithActor(label, found->second, cause, sentence);
    write(label, found->second);
}

// An administrator's name may require a remote look-up. Until it is known, the uid is used instead.
void ShellFiles::appendWithActor(
    const std::string& label, File& file, const core::Cause& cause,
    const std::function<std::string(const std::string& actor)>& sentence) {
    const std::uint64_t sequence = file.sequence;
    const bool isRoot = cause.actor == 0;
    const auto named = [isRoot, login = cause.actor.login](const std::string& name) {
        return !isRoot ? name : login ? fmt::format("root ({})", name) : "root";
    };
    const core::Uid asked = isRoot ? cause.actor.login.value_or(0) : cause.actor.uid;
    append(file, sentence(named(fmt::format("uid {}", asked))));
    if (asked == 0 || cause.reason != core::Reason::admin())
        return;
    const std::string before = file.sentences.back().text;
    users_.describe(asked, [=, this](const core::UserInfo& user) {
        const auto found = files_.find(label);
        if (found == files_.end())
            return;
        for (Sentence& each : found->second.sentences) {
            if (each.sequence == sequence && each.text == before) {
                each.text = sentence(named(core::escaped(user.name)));
                write(label, found->second);
                return;
            }
        }
    });
}

std::string ShellFiles::devicesOf(const core::EnvironmentRecord& environment) const {
    std::vector<core::CudaVisibleDevice> visible;
    for (const core::DeviceAttachment& attachment : environment.attachments)
        visible.push_back({attachment.device.index, attachment.device.uuid});
    return core::visibleDevices(std::move(visible),
                                hasInstances_ || isIsolated_ || environment.parent);
}

bool ShellFiles::machineHasInstances() const {
    const auto& devices = ledger_.devices().byIndex();
    return std::any_of(devices.begin(), devices.end(), [](const auto& device) {
        return device.second.facts.kind == core::DeviceKind::MigInstance;
    });
}

std::uint64_t ShellFiles::nextSequence() {
    lastSequence_ = std::max(lastSequence_ + 1, core::toMicroseconds(clock_.wallNow()));
    return lastSequence_;
}

void ShellFiles::rememberEnded(const std::string& label) {
    ended_.push_back(label);
    if (ended_.size() > maxEnded) {
        remove(ended_.front());
        ended_.pop_front();
    }
}

void ShellFiles::write(const std::string& label, const File& file) {
    std::string text = fmt::format("{} {}\n{}\n", file.sequence, file.began, file.devices);
    for (const Sentence& sentence : file.sentences)
        text += fmt::format("{} {}\n", sentence.sequence, sentence.text);
    folder_.write(label, {std::move(text), file.owner});
}

void ShellFiles::remove(std::string label) { // NOLINT(performance-unnecessary-value-param)
    files_.erase(label);
    folder_.remove(label);
}

} // namespace genv::service
