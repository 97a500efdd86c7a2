// SPDX-License-Identifier: LGPL-2.1-or-later
#include "service/isolation/loader.hpp"

#include "service/isolation/shared_nodes.hpp"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <map>
#include <optional>
#include <set>
#include <tuple>
#include <utility>

namespace genv::service::isolation {

namespace {

constexpr std::uint32_t present = 1;
// The suffix of a new pin that rename(2) will move to its final name. A BPF file system does not
// allow dots.
constexpr const char* newSuffix = "-new";

std::filesystem::path newPin(std::filesystem::path pin) {
    return pin += newSuffix;
}

[[noreturn]] void failOn(const std::string& what, const std::filesystem::path& path) {
    throw std::filesystem::filesystem_error(what, path,
                                            std::error_code(errno, std::system_category()));
}

struct GrantOrder {
    bool operator()(const genv_grant& one, const genv_grant& other) const {
        return std::tie(one.major, one.minor, one.uid) <
               std::tie(other.major, other.minor, other.uid);
    }
};

// Returns the map that is pinned at this path, or nothing if there is none.
std::optional<UntypedMap> openIfThere(const std::filesystem::path& pin) {
    try {
        return UntypedMap::open(pin);
    } catch (const BpfError& error) {
        if (error.error() != ENOENT)
            throw;
        return std::nullopt;
    }
}

// All maps: each is either the pinned one or a new one. Also keeps the old maps that the new ones
// replace.
class Maps {
  public:
    explicit Maps(const std::filesystem::path& pins) : pins_(pins) {
        set_.majors = MajorsMap(obtain(GateMap::Majors));
        set_.grants = GrantsMap(obtain(GateMap::Grants));
        set_.identities = IdentitiesMap(obtain(GateMap::Identities));
        set_.refusals = RefusalsMap(obtain(GateMap::Refusals));
        set_.mode = ModeMap(obtain(GateMap::Mode));
    }

    [[nodiscard]] const GateMapSet& set() const noexcept { return set_; }

    /// Returns whether an administrator suspended the gate, even if its mode is in a replaced map.
    [[nodiscard]] bool isSuspended() const {
        const ModeMap& mode = formerMode_ ? *formerMode_ : set_.mode;
        return mode.find(GENV_SUSPENDED_ENTRY).value_or(0) != 0 &&
               mode.find(GENV_MODE_ENTRY) == GENV_MODE_OPEN;
    }

    /// Copies the current grants, and nothing else, from a map with another layout, whose program
    /// may still run.
    void copyGrants() const {
        if (!formerGrants_)
            return;
        std::set<genv_grant, GrantOrder> wanted;
        for (const genv_grant& grant : formerGrants_->keys(std::size_t{2} * GENV_MAX_GRANTS))
            wanted.insert(grant);
        for (const core::DeviceNode& node : sharedNodes)
            wanted.insert({node.major, node.minor, GENV_ANYONE});
        for (const genv_grant& grant : wanted)
            set_.grants.put(grant, present);
        for (const genv_grant& grant : set_.grants.keys(GENV_MAX_GRANTS)) {
            if (!wanted.contains(grant))
                set_.grants.remove(grant);
        }
    }

    /// Pins the new maps beside those that they replace.
    void pinAside() const {
        for (const GateMap map : new_)
            set_.untyped(map).pin(newPin(pins_ / pinName(map)));
    }
    /// Moves each new map to its final name in one step.
    void putInPlace() const {
        for (const GateMap map : new_)
            std::filesystem::rename(newPin(pins_ / pinName(map)), pins_ / pinName(map));
    }

  private:
    UntypedMap obtain(GateMap map) {
        std::optional<UntypedMap> pinned = openIfThere(pins_ / pinName(map));
        if (pinned && pinned->has(layoutOf(map)))
            return std::move(*pinned);
        new_.push_back(map);
        if (pinned)
            keepFormer(map, std::move(*pinned));
        return UntypedMap::create(layoutOf(map));
    }
    // Keeps a map of another size. Maps with other keys or values have an unknown meaning.
    void keepFormer(GateMap map, UntypedMap former) {
        if (!former.hasEntriesOf(layoutOf(map)))
            return;
        if (map == GateMap::Grants)
            formerGrants_.emplace(std::move(former));
        else if (map == GateMap::Mode)
            formerMode_.emplace(std::move(former));
    }

    const std::filesystem::path& pins_;
    GateMapSet set_;
    std::vector<GateMap> new_;
    std::optional<GrantsMap> formerGrants_;
    std::optional<ModeMap> formerMode_;
};

// Writes to an array with one entry for each major. Adds new entries first, as for identities.
void writeMajors(const MajorsMap& map, const GatePlan& plan) {
    std::map<std::uint32_t, std::uint32_t> wanted;
    if (plan.renderNodes)
        wanted[drmMajor] = GENV_GUARD_LISTED;
    for (const std::uint32_t major : plan.majors)
        wanted[major] = GENV_GUARD_ALL;
    for (const auto& [major, guard] : wanted)
        map.put(major, guard);
    for (std::uint32_t major = 0; major < GENV_MAX_MAJORS; ++major) {
        if (map.find(major).value_or(GENV_GUARD_NONE) != GENV_GUARD_NONE && !wanted.contains(major))
            map.put(major, GENV_GUARD_NONE);
    }
}

// Opens the nodes that give access to no GPU, and lists the guarded ones of DRM. The service
// removes those that no longer belong to a GPU.
void writeNodes(const GrantsMap& map, const GatePlan& plan) {
    for (const core::DeviceNode& node : sharedNodes)
        map.put({node.major, node.minor, GENV_ANYONE}, present);
    for (const core::DeviceNode& node : plan.open)
        map.put({node.major, node.minor, GENV_ANYONE}, present);
    for (const core::DeviceNode& node : plan.renderNodes.value_or(std::vector<core::DeviceNode>{}))
        map.put({node.major, node.minor, GENV_LISTED}, present);
}

} // namespace

Loader::Loader(std::filesystem::path pins, std::filesystem::path controlGroup)
    : pins_(std::move(pins)), controlGroup_(std::move(controlGroup)) {}

GateState Loader::putUp(const GatePlan& plan) const {
    makeFolder();
    const Maps maps(pins_);
    // Load the program before writing to maps that a running program reads, because loading is the
    // step that fails most often. The program has no effect until it is attached, and by then its
    // maps are complete.
    const core::Descriptor program = loadGateProgram(maps.set());
    maps.pinAside();

    maps.copyGrants();
    writeNodes(maps.set().grants, plan);
    writeIdentities(maps.set().identities, plan.identities);
    writeMajors(maps.set().majors, plan);
    const bool isSuspended = maps.isSuspended();
    maps.set().mode.put(GENV_MODE_ENTRY, toKernel(isSuspended ? core::GateMode::Open : plan.mode));
    maps.set().mode.put(GENV_SUSPENDED_ENTRY, isSuspended ? 1 : 0);

    const bool wasReplaced = attach(program.get());
    maps.putInPlace();
    // Until now, the service has added its grants to the old map.
    maps.copyGrants();
    writeNodes(maps.set().grants, plan);
    return {wasReplaced, isSuspended};
}

void Loader::tryToLoad() {
    const auto create = [](GateMap map) { return UntypedMap::create(layoutOf(map)); };
    GateMapSet maps;
    maps.majors = MajorsMap(create(GateMap::Majors));
    maps.grants = GrantsMap(create(GateMap::Grants));
    maps.identities = IdentitiesMap(create(GateMap::Identities));
    maps.refusals = RefusalsMap(create(GateMap::Refusals));
    maps.mode = ModeMap(create(GateMap::Mode));
    loadGateProgram(maps);
}

void Loader::makeFolder() const {
    if (::mkdir(pins_.c_str(), 0700) != 0 && errno != EEXIST)
        failOn("cannot make the folder", pins_);
    // In a world-writable BPF file system, another user may have created it.
    struct stat folder {};
    if (::lstat(pins_.c_str(), &folder) != 0)
        failOn("cannot inspect the folder", pins_);
    errno = ENOTDIR;
    if (!S_ISDIR(folder.st_mode))
        failOn("not a folder:", pins_);
    errno = EPERM;
    if (folder.st_uid != ::geteuid() || (folder.st_mode & (S_IWGRP | S_IWOTH)) != 0)
        failOn("other users may write to the folder", pins_);
    // Remove pins that an interrupted loader left.
    for (const auto& entry : std::filesystem::directory_iterator(pins_)) {
        if (entry.path().filename().string().ends_with(newSuffix))
            std::filesystem::remove(entry.path());
    }
}

bool Loader::attach(int program) const {
    const bool wasReplaced = replaceAttached(program);
    if (wasReplaced)
        return true;
    const std::filesystem::path pin = pins_ / linkPin;
    const BpfLink link = BpfLink::attach(program, controlGroup_);
    link.pin(newPin(pin));
    // Prevent the service, which may read everything that root may, from opening the link and
    // detaching it.
    if (::chmod(newPin(pin).c_str(), 0) != 0)
        failOn("cannot lock", newPin(pin));
    std::filesystem::rename(newPin(pin), pin);
    return false;
}

bool Loader::replaceAttached(int program) const {
    const std::filesystem::path pin = pins_ / linkPin;
    struct stat found {};
    if (::stat(pin.c_str(), &found) != 0 && errno == ENOENT)
        return false;
    if (::chmod(pin.c_str(), 0600) != 0)
        failOn("cannot unlock", pin);
    bool wasReplaced = true;
    try {
        BpfLink::open(pin).replaceProgram(program);
    } catch (const BpfError& error) {
        // The link was detached or its control group was removed.
        wasReplaced = error.error() != ENOLINK;
        if (wasReplaced) {
            ::chmod(pin.c_str(), 0);
            throw;
        }
    }
    if (::chmod(pin.c_str(), 0) != 0)
        failOn("cannot lock", pin);
    return wasReplaced;
}

bool Loader::takeDown() const {
    // Remove the link first. A gate without its maps would stay closed for good.
    const bool hadLink = std::filesystem::remove(pins_ / linkPin);
    std::error_code none;
    if (!std::filesystem::exists(pins_, none))
        return hadLink;
    std::filesystem::remove_all(pins_);
    return true;
}

} // namespace genv::service::isolation
