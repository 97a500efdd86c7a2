// SPDX-License-Identifier: LGPL-2.1-or-later
// bpf(2) as far as the gate needs it: maps, pins, programs and links, each owned by its descriptor.
// Nothing here waits; what the kernel refuses is a BpfError.
#pragma once

#include "core/descriptor.hpp"

#include <linux/bpf.h>

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <optional>
#include <span>
#include <stdexcept>
#include <string>
#include <string_view>
#include <vector>

namespace genv::service::isolation {

/// What the kernel refused, and why: "cannot make the map grants: Operation not permitted".
class BpfError : public std::runtime_error {
  public:
    BpfError(const std::string& what, int error);

    /// As errno has it.
    [[nodiscard]] int error() const noexcept { return error_; }

  private:
    int error_;
};

/// What the kernel makes a map from.
struct MapLayout {
    std::string_view name; ///< at most 15 characters
    bpf_map_type type = BPF_MAP_TYPE_UNSPEC;
    std::uint32_t keySize = 0;
    std::uint32_t valueSize = 0;
    std::uint32_t maxEntries = 0;
    std::uint32_t flags = 0;
};

/// A map without types: `Map` below has them.
class UntypedMap {
  public:
    UntypedMap() = default;
    /// Throws BpfError, as all of this class do.
    static UntypedMap create(const MapLayout& layout);
    /// The map that is pinned there.
    static UntypedMap open(const std::filesystem::path& pin);

    [[nodiscard]] bool isOpen() const noexcept { return fd_.isOpen(); }
    [[nodiscard]] int descriptor() const noexcept { return fd_.get(); }
    /// Whether it was made from this, by name and in every number.
    [[nodiscard]] bool has(const MapLayout& layout) const;
    /// Whether its keys and values are those of this layout, however many it may have.
    [[nodiscard]] bool hasEntriesOf(const MapLayout& layout) const;
    void pin(const std::filesystem::path& path) const;

    /// Whether there is such an entry, whose value is then copied.
    bool find(const void* key, void* value) const;
    void put(const void* key, const void* value) const;
    /// Whether there was such an entry.
    bool remove(const void* key) const;
    /// The key after this one, or the first one; false behind the last.
    bool next(const void* key, void* following) const;

  private:
    explicit UntypedMap(core::Descriptor fd) : fd_(std::move(fd)) {}

    [[nodiscard]] bpf_map_info describe() const;

    core::Descriptor fd_;
};

/// A map with keys and values of these types, which have no padding.
template <typename Key, typename Value>
class Map {
  public:
    Map() = default;
    explicit Map(UntypedMap map) : map_(std::move(map)) {}

    [[nodiscard]] const UntypedMap& untyped() const noexcept { return map_; }

    [[nodiscard]] std::optional<Value> find(const Key& key) const {
        Value value{};
        return map_.find(&key, &value) ? std::optional<Value>(value) : std::nullopt;
    }
    void put(const Key& key, const Value& value) const { map_.put(&key, &value); }
    bool remove(const Key& key) const { return map_.remove(&key); }

    /// All keys, in no order. An entry that others remove meanwhile makes the kernel begin again,
    /// so that a key may come twice; the number of steps is bounded all the same.
    [[nodiscard]] std::vector<Key> keys(std::size_t maxEntries) const {
        std::vector<Key> found;
        for (Key key{}; map_.next(found.empty() ? nullptr : &found.back(), &key);) {
            found.push_back(key);
            if (found.size() >= 2 * maxEntries)
                break;
        }
        return found;
    }

  private:
    UntypedMap map_;
};

/// Loads a program of the type BPF_PROG_TYPE_CGROUP_DEVICE. Throws BpfError, with the end of what
/// the kernel's verifier wrote.
core::Descriptor loadDeviceProgram(std::span<const bpf_insn> instructions, const char* name);

/// A program's place in a control group. It stays there as long as there is a pin or a descriptor.
class Link {
  public:
    /// Attaches a program beside those that are there. Throws BpfError, as all of this class do.
    static Link attach(int program, const std::filesystem::path& controlGroup);
    static Link open(const std::filesystem::path& pin);

    void pin(const std::filesystem::path& path) const;
    /// Puts another program in the place of the one that is attached; each open(2) meets one of
    /// both.
    void replaceProgram(int program) const;

  private:
    explicit Link(core::Descriptor fd) : fd_(std::move(fd)) {}

    core::Descriptor fd_;
};

} // namespace genv::service::isolation
