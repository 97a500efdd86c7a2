// SPDX-License-Identifier: LGPL-2.1-or-later
#include "service/isolation/identities.hpp"

#include "core/base/text.hpp"
#include "core/base/user_database.hpp"
#include "core/sentences/sentences.hpp"
#include "core/settings/dynamic_uids.hpp"
#include "service/isolation/uid_claims.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <sys/stat.h>

#include <algorithm>
#include <fstream>
#include <iterator>
#include <map>
#include <set>
#include <sstream>
#include <unordered_map>
#include <utility>

namespace genv::service::isolation {

namespace {

using core::Uid;

constexpr Uid root = 0;
// Distributions give these uids to users, and systemd to dynamic users. Containers have larger
// uids.
constexpr UidRange usersOwn{1, 65535};
constexpr UidRange dynamicUsers = core::dynamicUids;

// The owner of a uid range. Two owners with the same uid are equal.
struct Owner {
    std::string name;
    std::optional<Uid> uid; // unset for an unknown user

    friend bool operator==(const Owner& one, const Owner& other) {
        return one.uid == other.uid && (one.uid || one.name == other.name);
    }
};

std::string describe(const Owner& owner) {
    return owner.uid ? fmt::format("{} [{}]", core::escaped(owner.name), *owner.uid)
                     : fmt::format("\"{}\"", core::escaped(owner.name));
}

std::string describe(const std::vector<UidRange>& ranges) {
    constexpr std::size_t shown = 4;
    std::vector<std::string> texts;
    for (const UidRange& range : ranges) {
        if (texts.size() == shown) {
            texts.push_back(core::counted(ranges.size() - shown, "more range"));
            break;
        }
        texts.push_back(range.first == range.last ? fmt::format("{}", range.first)
                                                  : fmt::format("{}-{}", range.first, range.last));
    }
    return fmt::format("{}", fmt::join(texts, ", "));
}

void append(std::vector<UidRange>& ranges, const UidRange& range) {
    if (!ranges.empty() && std::uint64_t{ranges.back().last} + 1 == range.first)
        ranges.back().last = range.last;
    else
        ranges.push_back(range);
}

// Decides about each uid after collecting all statements about it.
class Decisions {
  public:
    Decisions(const core::IsolationSettings& settings, const FindUid& findUid,
              Identities& identities)
        : settings_(settings), findUid_(findUid), identities_(identities),
          complaints_(identities.complaints) {}

    void addSystem(Uid uidMin) {
        if (settings_.exemptSystem && uidMin > 1)
            exempt_.push_back({1, uidMin - 1});
    }
    // Call this after adding the users of passwd, who may have such a uid: Debian gives some to its
    // packages.
    void addDynamicUsers();
    void addExemptUsers() {
        for (const std::string& name : settings_.exemptUsers) {
            const std::optional<Uid> uid = find(name);
            if (!uid)
                complaints_.push_back(
                    fmt::format("IsolationExempt: unknown user \"{}\": the name exempts nobody",
                                core::escaped(name)));
            else if (*uid != root) {
                exempt_.push_back({*uid, *uid});
                exemptByName_.insert(*uid);
            }
        }
    }
    void addUsers(const std::vector<Uid>& uids) { users_.insert(uids.begin(), uids.end()); }
    void addSubordinate(const std::vector<SubordinateUids>& lines);

    std::vector<IdentityBlock> decide();
    // Ends the exemption of people with the uid of a service, each with one block, which the kernel
    // prefers to the larger one around it.
    void separate(const std::set<Uid>& people, std::vector<IdentityBlock>& blocks) const;

  private:
    // The claims to the uids of a segment.
    struct Claims {
        std::map<std::size_t, int> owners; // index into owners_ -> number of claims
        int exempt = 0;
        int own = 0;
    };
    struct Boundary {
        std::uint64_t at;
        int change; // 1 at the start of a range, -1 after its end
        enum { Exempt, Own, Subordinate } kind;
        std::size_t owner; // index into owners_; only for Subordinate

        friend bool operator<(const Boundary& one, const Boundary& other) {
            return one.at < other.at;
        }
    };
    struct Verdict {
        bool hasBlock = false;
        std::optional<Uid> owner; // unset: exempt

        friend bool operator==(const Verdict&, const Verdict&) = default;
    };

    std::optional<Uid> find(const std::string& name);
    [[nodiscard]] bool isExempt(Uid uid) const {
        return std::ranges::any_of(exempt_, [uid](const UidRange& range) {
            return range.first <= uid && uid <= range.last;
        });
    }
    [[nodiscard]] std::vector<Boundary> boundaries() const;
    static void apply(const Boundary& boundary, Claims& claims);
    Verdict decideOn(const UidRange& segment, const Claims& claims);
    Verdict complain(const UidRange& segment, const std::string& consequence);
    void reportUnclear();

    const core::IsolationSettings& settings_;
    const FindUid& findUid_;
    Identities& identities_;
    std::vector<std::string>& complaints_;
    std::unordered_map<std::string, std::optional<Uid>> found_;
    std::vector<UidRange> exempt_;
    std::set<Uid> exemptByName_;
    std::set<Uid> users_;
    std::vector<Owner> owners_;
    std::vector<std::pair<UidRange, std::size_t>> subordinate_; // range, index into owners_
    std::map<std::string, std::vector<UidRange>> unclear_;      // by the consequence for these uids
};

std::optional<Uid> Decisions::find(const std::string& name) {
    const auto [entry, isNew] = found_.try_emplace(name);
    if (isNew) {
        try {
            entry->second = findUid_(name);
        } catch (const core::UserDatabaseError&) {
            identities_.isComplete = false;
        }
        if (entry->second == GENV_EXEMPT) // the number for "no user"
            entry->second.reset();
        if (entry->second)
            users_.insert(*entry->second);
    }
    return entry->second;
}

void Decisions::addDynamicUsers() {
    if (settings_.exemptSystem) {
        exempt_.push_back(dynamicUsers);
        return;
    }
    Uid first = dynamicUsers.first;
    for (auto user = users_.lower_bound(first); user != users_.end() && *user <= dynamicUsers.last;
         ++user) {
        if (*user > first)
            exempt_.push_back({first, *user - 1});
        first = *user + 1;
    }
    if (first <= dynamicUsers.last)
        exempt_.push_back({first, dynamicUsers.last});
}

void Decisions::addSubordinate(const std::vector<SubordinateUids>& lines) {
    for (const SubordinateUids& line : lines) {
        Owner owner{line.owner, parseUid(line.owner)};
        if (!owner.uid)
            owner.uid = find(line.owner);
        auto known = std::ranges::find(owners_, owner);
        if (known == owners_.end()) {
            if (!owner.uid)
                complaints_.push_back(fmt::format(
                    "/etc/subuid: unknown user {}: nobody owns these uids", describe(owner)));
            known = owners_.insert(owners_.end(), std::move(owner));
        }
        subordinate_.emplace_back(line.uids,
                                  static_cast<std::size_t>(std::distance(owners_.begin(), known)));
    }
}

std::vector<Decisions::Boundary> Decisions::boundaries() const {
    std::vector<Boundary> found;
    const auto add = [&](const UidRange& range, auto kind, std::size_t owner = 0) {
        found.push_back({range.first, 1, kind, owner});
        found.push_back({std::uint64_t{range.last} + 1, -1, kind, owner});
    };
    for (const UidRange& range : exempt_)
        add(range, Boundary::Exempt);
    add(usersOwn, Boundary::Own);
    for (const Uid uid : users_)
        add({uid, uid}, Boundary::Own);
    for (const auto& [range, owner] : subordinate_)
        add(range, Boundary::Subordinate, owner);
    std::ranges::stable_sort(found, {}, &Boundary::at);
    return found;
}

void Decisions::apply(const Boundary& boundary, Claims& claims) {
    switch (boundary.kind) {
    case Boundary::Exempt:
        claims.exempt += boundary.change;
        break;
    case Boundary::Own:
        claims.own += boundary.change;
        break;
    case Boundary::Subordinate:
        if ((claims.owners[boundary.owner] += boundary.change) == 0)
            claims.owners.erase(boundary.owner);
        break;
    }
}

std::vector<IdentityBlock> Decisions::decide() {
    std::vector<IdentityBlock> blocks;
    UidRange pending;
    Verdict pendingVerdict;
    const auto flush = [&] {
        if (!pendingVerdict.hasBlock)
            return;
        const auto more = blocksOf(pending.first, pending.last, pendingVerdict.owner);
        blocks.insert(blocks.end(), more.begin(), more.end());
    };
    Claims claims;
    const std::vector<Boundary> all = boundaries();
    for (std::size_t n = 0; n < all.size(); ++n) {
        apply(all[n], claims);
        if (n + 1 == all.size() || all[n + 1].at == all[n].at)
            continue;
        const UidRange segment{static_cast<Uid>(all[n].at), static_cast<Uid>(all[n + 1].at - 1)};
        const Verdict verdict = decideOn(segment, claims);
        if (verdict == pendingVerdict && std::uint64_t{pending.last} + 1 == segment.first) {
            pending.last = segment.last;
            continue;
        }
        flush();
        pending = segment;
        pendingVerdict = verdict;
    }
    flush();
    reportUnclear();
    return blocks;
}

void Decisions::separate(const std::set<Uid>& people, std::vector<IdentityBlock>& blocks) const {
    for (const Uid uid : people) {
        if (exemptByName_.contains(uid) || uid < dynamicUsers.first || uid > dynamicUsers.last)
            continue;
        std::erase_if(blocks, [uid](const IdentityBlock& block) {
            return block.first == uid && block.prefixLength == 32;
        });
        blocks.push_back({uid, 32, uid});
    }
}

Decisions::Verdict Decisions::decideOn(const UidRange& segment, const Claims& claims) {
    const Verdict exempt{true, std::nullopt};
    std::vector<std::string> names;
    const Owner* owner = nullptr;
    bool allExempt = true;
    for (const auto& [place, count] : claims.owners) {
        owner = &owners_[place];
        names.push_back(describe(*owner));
        allExempt = allExempt && owner->uid && isExempt(*owner->uid);
    }
    const auto whose = [&] { return fmt::format("{}", fmt::join(names, " and ")); };
    if (claims.exempt > 0)
        return allExempt ? exempt
                         : complain(segment,
                                    fmt::format("subordinate uids of {} are not exempt", whose()));
    if (owner == nullptr)
        return {};
    if (claims.own > 0 || segment.first == root)
        return complain(
            segment,
            fmt::format(
                "uids of users that are also subordinate uids of {} have only their own rights",
                whose()));
    if (allExempt)
        return exempt;
    if (names.size() > 1)
        return complain(segment,
                        fmt::format("subordinate uids that {} share belong to nobody", whose()));
    if (owner->uid == root)
        return complain(segment, "subordinate uids of root do not have the rights of root");
    return {owner->uid.has_value(), owner->uid};
}

Decisions::Verdict Decisions::complain(const UidRange& segment, const std::string& consequence) {
    append(unclear_[consequence], segment);
    return {};
}

void Decisions::reportUnclear() {
    for (const auto& [consequence, ranges] : unclear_)
        complaints_.push_back(fmt::format("/etc/subuid: {} ({})", consequence, describe(ranges)));
}

const std::vector<std::string>& fileNames() {
    static const std::vector<std::string> names{"subuid", "login.defs", "passwd"};
    return names;
}

std::string readFile(const std::filesystem::path& file, std::vector<std::string>& complaints) {
    std::error_code none;
    if (!std::filesystem::exists(file, none) && !none)
        return {};
    std::ifstream stream(file, std::ios::binary);
    std::ostringstream text;
    if (stream && stream.peek() != std::ifstream::traits_type::eof())
        text << stream.rdbuf();
    if (!stream.is_open() || stream.bad())
        complaints.push_back(fmt::format("cannot read {}", file.string()));
    return text.str();
}

} // namespace

Identities identitiesFrom(const IdentityTexts& texts, const core::IsolationSettings& settings,
                          const FindUid& findUid, const std::set<core::Uid>& people) {
    Identities identities;
    Decisions decisions(settings, findUid, identities);
    decisions.addUsers(parsePasswdUids(texts.passwd));
    decisions.addSystem(parseUidMin(texts.loginDefs, identities.complaints));
    decisions.addDynamicUsers();
    decisions.addExemptUsers();
    decisions.addSubordinate(parseSubuid(texts.subuid, identities.complaints));
    identities.blocks = decisions.decide();
    decisions.separate(people, identities.blocks);
    return identities;
}

IdentityFiles::IdentityFiles(std::filesystem::path etc) : etc_(std::move(etc)) {}

bool IdentityFiles::haveChanged() {
    std::vector<Version> now;
    for (const std::string& name : fileNames()) {
        struct stat found {};
        Version version;
        if (::stat((etc_ / name).c_str(), &found) == 0)
            version = {found.st_mtim.tv_sec * std::int64_t{1'000'000'000} + found.st_mtim.tv_nsec,
                       found.st_ino, found.st_size};
        now.push_back(version);
    }
    const bool changed = seen_ != now;
    seen_ = std::move(now);
    return changed;
}

Identities IdentityFiles::read(const core::IsolationSettings& settings,
                               const std::set<core::Uid>& people) const {
    std::vector<std::string> complaints;
    std::vector<std::string> texts;
    for (const std::string& name : fileNames())
        texts.push_back(readFile(etc_ / name, complaints));
    Identities identities =
        identitiesFrom({texts[0], texts[1], texts[2]}, settings, findSystemUid, people);
    identities.complaints.insert(identities.complaints.begin(), complaints.begin(),
                                 complaints.end());
    return identities;
}

std::optional<core::Uid> findSystemUid(const std::string& name) {
    const auto user = core::userNamed(name);
    return user ? std::optional(user->uid) : std::nullopt;
}

} // namespace genv::service::isolation
