// SPDX-License-Identifier: LGPL-2.1-or-later
#include "service/isolation/kernel_gates.hpp"

#include "core/base/error.hpp"
#include "core/settings/dynamic_uids.hpp"
#include "service/isolation/identity_map.hpp"
#include "service/isolation/shared_nodes.hpp"

#include <fmt/format.h>
#include <linux/magic.h>
#include <sys/stat.h>
#include <sys/vfs.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>

namespace genv::service {

namespace {

using namespace isolation;
using core::ErrorCode;
using core::GateMode;

constexpr std::uint32_t present = 1;

std::string describe(const core::Grant& grant) {
    const std::string who = grant.uid ? fmt::format("uid {}", *grant.uid) : "everybody";
    return fmt::format("device node {}:{} for {}", grant.node.major, grant.node.minor, who);
}

genv_grant toKernel(const core::Grant& grant) {
    if (grant.uid >= GENV_LISTED) // no user has these uids
        core::fail(ErrorCode::IsolationFailed, "{} is not the uid of a user", *grant.uid);
    return {grant.node.major, grant.node.minor, grant.uid.value_or(GENV_ANYONE)};
}

bool isOfSharedNode(const core::Grant& grant) {
    return !grant.uid && std::ranges::find(sharedNodes, grant.node) != sharedNodes.end();
}

core::RefusedOpens refusalsOf(const genv_refusal_key& key, const genv_refusal& value) {
    using std::chrono::duration_cast;
    const std::chrono::nanoseconds last(static_cast<std::int64_t>(value.last));
    return {key.uid,
            {key.major, key.minor},
            {value.refused, value.watched},
            core::BootTime(duration_cast<core::BootTime::duration>(last)),
            value.pid,
            std::string(value.command, ::strnlen(value.command, sizeof value.command))};
}

// Returns the consequence of an error that its own text does not mention.
std::string consequenceOf(int error) {
    switch (error) {
    case EPERM:
        return "; before Linux 5.19 the service needs CAP_BPF for this, see \"Kernels\" in "
               "isolation.md";
    case E2BIG: // returned by hash tables
    case ENOSPC:
        return "; the kernel's table for it is full";
    default:
        return "";
    }
}

// The kernel assigns numbers from these ranges to drivers that request any number. Every other
// number belongs to one driver, such as 1 to that of /dev/null, and must never be guarded by
// mistake.
bool isDynamic(std::uint32_t major) {
    return (major >= 234 && major <= 254) || (major >= 384 && major <= 511);
}

} // namespace

KernelGates::KernelGates(std::filesystem::path pins) : pins_(std::move(pins)) {}

std::string KernelGates::absence() {
    return refresh();
}

std::optional<std::array<KernelGates::Place, KernelGates::pinCount>>
KernelGates::findPins(std::string& missing) const {
    std::array<Place, pinCount> places;
    for (std::size_t n = 0; n < pinCount; ++n) {
        const char* name = n < gateMapCount ? pinName(gateMaps[n]) : linkPin;
        struct stat found {};
        if (::stat((pins_ / name).c_str(), &found) != 0) {
            missing = fmt::format("{}: {}", (pins_ / name).string(), std::strerror(errno));
            return std::nullopt;
        }
        places[n] = {found.st_dev, found.st_ino};
    }
    return places;
}

std::string KernelGates::reasonWithout(const std::string& missing) const {
    const std::filesystem::path parent = pins_.parent_path();
    if (!hasBpfFileSystem(parent))
        return fmt::format("no BPF file system is mounted on {}", parent.string());
    struct stat folder {};
    if (::stat(pins_.c_str(), &folder) != 0 && errno == ENOENT)
        return "genv-isolation.service has not run or failed";
    return fmt::format("genv-isolation.service failed, or its files were removed ({})", missing);
}

bool KernelGates::hasBpfFileSystem(const std::filesystem::path& folder) {
    struct statfs mounted {};
    return ::statfs(folder.c_str(), &mounted) == 0 &&
           static_cast<std::uint32_t>(mounted.f_type) == BPF_FS_MAGIC;
}

std::string KernelGates::refresh() {
    std::string missing;
    struct stat folder {};
    isUnusable_ = false;
    if (::lstat(pins_.c_str(), &folder) == 0 && folder.st_uid != ::geteuid()) {
        maps_.reset();
        return fmt::format("{} belongs to uid {}, and that user could change grants",
                           pins_.string(), folder.st_uid);
    }
    const auto places = findPins(missing);
    if (!places) {
        maps_.reset();
        return reasonWithout(missing);
    }
    if (maps_ && *places == places_)
        return {};
    maps_.reset();
    std::string reason = open(*places);
    isUnusable_ = !reason.empty();
    return reason;
}

std::string KernelGates::open(const std::array<Place, pinCount>& places) {
    try {
        GateMapSet opened = GateMapSet::open(pins_);
        for (const GateMap map : gateMaps) {
            // If the sizes differ, the kernel would write past the end of our values.
            if (!opened.untyped(map).has(layoutOf(map)))
                return fmt::format("{} was made by another version of genv; run \"systemctl "
                                   "restart genv-isolation genvd\"",
                                   (pins_ / pinName(map)).string());
        }
        maps_ = std::move(opened);
        places_ = places;
        ++generation_;
        return {};
    } catch (const BpfError& error) {
        return error.what() + consequenceOf(error.error());
    }
}

void KernelGates::use(const std::string& what, const std::function<void(const GateMapSet&)>& act) {
    if (const std::string reason = refresh(); !reason.empty())
        core::fail(ErrorCode::IsolationFailed, "{}: isolation is not in force: {}", what, reason);
    try {
        act(*maps_);
    } catch (const BpfError& error) {
        core::fail(ErrorCode::IsolationFailed, "{}: {}{}", what, error.what(),
                   consequenceOf(error.error()));
    }
}

GateMode KernelGates::mode() {
    GateMode mode = GateMode::Refuse;
    use("cannot read the mode of the kernel's gate", [&](const GateMapSet& maps) {
        mode = toGateMode(maps.mode.find(GENV_MODE_ENTRY).value_or(GENV_MODE_REFUSE));
    });
    return mode;
}

void KernelGates::setMode(GateMode mode) {
    use("cannot set the mode of the kernel's gate",
        [&](const GateMapSet& maps) { maps.mode.put(GENV_MODE_ENTRY, isolation::toKernel(mode)); });
}

bool KernelGates::isSuspended() {
    bool suspended = false;
    use("cannot read the mode of the kernel's gate", [&](const GateMapSet& maps) {
        suspended = maps.mode.find(GENV_SUSPENDED_ENTRY).value_or(0) != 0;
    });
    return suspended;
}

void KernelGates::setSuspended(bool suspended) {
    use("cannot set the mode of the kernel's gate",
        [&](const GateMapSet& maps) { maps.mode.put(GENV_SUSPENDED_ENTRY, suspended ? 1 : 0); });
}

bool KernelGates::guard(std::uint32_t major) {
    bool guarded = false;
    use("cannot guard device nodes", [&](const GateMapSet& maps) {
        guarded = maps.majors.find(major) == GENV_GUARD_ALL;
        if (!guarded && isDynamic(major)) {
            maps.majors.put(major, GENV_GUARD_ALL);
            guarded = true;
        }
    });
    return guarded;
}

bool KernelGates::guardRenderNodes(const std::set<core::DeviceNode>& nodes) {
    bool guarded = false;
    use("cannot guard render nodes", [&](const GateMapSet& maps) {
        guarded = maps.majors.find(drmMajor) == GENV_GUARD_LISTED;
        if (!guarded)
            return;
        for (const core::DeviceNode& node : nodes) {
            if (node.major == drmMajor)
                maps.grants.put({node.major, node.minor, GENV_LISTED}, present);
        }
        for (const genv_grant& key : maps.grants.keys(GENV_MAX_GRANTS)) {
            if (key.uid == GENV_LISTED && !nodes.contains({key.major, key.minor}))
                maps.grants.remove(key);
        }
    });
    return guarded;
}

std::vector<core::Grant> KernelGates::grants() {
    std::vector<core::Grant> grants;
    use("cannot list the kernel's grants", [&](const GateMapSet& maps) {
        for (const genv_grant& key : maps.grants.keys(GENV_MAX_GRANTS)) {
            if (key.uid == GENV_LISTED)
                continue;
            core::Grant grant{{key.major, key.minor}, std::nullopt};
            if (key.uid != GENV_ANYONE)
                grant.uid = key.uid;
            if (!isOfSharedNode(grant))
                grants.push_back(grant);
        }
    });
    std::ranges::sort(grants);
    grants.erase(std::unique(grants.begin(), grants.end()), grants.end());
    return grants;
}

void KernelGates::grant(const core::Grant& grant) {
    const genv_grant key = toKernel(grant);
    use(fmt::format("cannot open {}", describe(grant)),
        [&](const GateMapSet& maps) { maps.grants.put(key, present); });
}

void KernelGates::revoke(const core::Grant& grant) {
    const genv_grant key = toKernel(grant);
    if (isOfSharedNode(grant))
        return;
    use(fmt::format("cannot close {}", describe(grant)),
        [&](const GateMapSet& maps) { maps.grants.remove(key); });
}

std::optional<core::Uid> KernelGates::granteeOf(core::Uid uid) {
    std::optional<core::Uid> grantee = uid;
    use("cannot look up an identity", [&](const GateMapSet& maps) {
        const auto block = findIdentity(maps.identities, uid);
        if (block)
            grantee = block->owner;
    });
    return grantee;
}

std::vector<core::RefusedOpens> KernelGates::refusals() {
    std::vector<core::RefusedOpens> refusals;
    use("cannot list refusals", [&](const GateMapSet& maps) {
        for (const genv_refusal_key& key : maps.refusals.keys(GENV_MAX_REFUSALS)) {
            // The kernel may drop the oldest entry at any time. An entry without opens is being
            // created.
            if (const auto value = maps.refusals.find(key);
                value && value->refused + value->watched > 0)
                refusals.push_back(refusalsOf(key, *value));
        }
    });
    const auto keyOf = [](const core::RefusedOpens& entry) {
        return std::pair(entry.uid, entry.node);
    };
    std::ranges::sort(refusals, {}, keyOf);
    const auto same = [&](const auto& one, const auto& other) {
        return keyOf(one) == keyOf(other);
    };
    refusals.erase(std::unique(refusals.begin(), refusals.end(), same), refusals.end());
    return refusals;
}

void KernelGates::setIdentities(const std::vector<IdentityBlock>& wanted) {
    use("cannot update the table of subordinate uids",
        [&](const GateMapSet& maps) { writeIdentities(maps.identities, wanted); });
    exempt_ = exemptUids(wanted);
}

std::set<core::Uid> KernelGates::people() {
    std::set<core::Uid> people;
    try {
        use("cannot read the table of subordinate uids", [&](const GateMapSet& maps) {
            for (const IdentityBlock& block : readIdentities(maps.identities)) {
                const bool isDynamic =
                    block.first >= core::dynamicUids.first && block.first <= core::dynamicUids.last;
                if (isDynamic && block.prefixLength == 32 && block.owner == block.first)
                    people.insert(block.first);
            }
        });
    } catch (const core::Error&) {
        people.clear(); // there is no gate
    }
    return people;
}

} // namespace genv::service
