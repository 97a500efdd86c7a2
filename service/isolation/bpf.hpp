// SPDX-License-Identifier: LGPL-2.1-or-later
// The subset of bpf(2) that the gate needs: maps, pins, programs and links, each owned by its
// descriptor. No call here waits. Throws BpfError if the kernel refuses a call.
#pragma once

#include "core/base/descriptor.hpp"

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

/// An operation that the kernel refused, and why: "cannot make the map grants: Operation not
/// permitted".
class BpfError : public std::runtime_error {
  public:
    BpfError(const std::string& what, int error);

    /// Returns the errno value.
    [[nodiscard]] int error() const noexcept { return error_; }

  private:
    int error_;
};

/// The parameters of a map.
struct MapLayout {
    std::string_view name; ///< at most 15 characters
    bpf_map_type type = BPF_MAP_TYPE_UNSPEC;
    std::uint32_t keySize = 0;
    std::uint32_t valueSize = 0;
    std::uint32_t maxEntries = 0;
    std::uint32_t flags = 0;
};

/// A map without types. `Map` below adds them.
class UntypedMap {
  public:
    UntypedMap() = default;
    /// Throws BpfError, as all functions of this class do.
    static UntypedMap create(const MapLayout& layout);
    /// Opens the map that is pinned at this path.
    static UntypedMap open(const std::filesystem::path& pin);

    [[nodiscard]] bool isOpen() const noexcept { return fd_.isOpen(); }
    [[nodiscard]] int descriptor() const noexcept { return fd_.get(); }
    /// Returns whether the map has this name and every number of this layout.
    [[nodiscard]] bool has(const MapLayout& layout) const;
    /// Returns whether the keys and values have the sizes of this layout, whatever the number of
    /// entries.
    [[nodiscard]] bool hasEntriesOf(const MapLayout& layout) const;
    void pin(const std::filesystem::path& path) const;

    /// Returns whether the entry exists, and copies its value in that case.
    bool find(const void* key, void* value) const;
    void put(const void* key, const void* value) const;
    /// Returns whether the entry existed.
    bool remove(const void* key) const;
    /// Finds the key after `key`, or the first one. Returns false after the last key.
    bool next(const void* key, void* following) const;

  private:
    explicit UntypedMap(core::Descriptor fd) : fd_(std::move(fd)) {}

    [[nodiscard]] bpf_map_info describe() const;

    core::Descriptor fd_;
};

/// A map with keys and values of these types, which must have no padding.
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

    /// Returns all keys, in no particular order. If another process removes an entry meanwhile, the
    /// kernel starts over, so a key may appear twice. The number of steps is bounded.
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

/// Loads a program of the type BPF_PROG_TYPE_CGROUP_DEVICE. Throws BpfError with the end of the
/// verifier's log.
core::Descriptor loadDeviceProgram(std::span<const bpf_insn> instructions, const char* name);

/// A program's attachment to a control group. It persists as long as a pin or a descriptor exists.
class BpfLink {
  public:
    /// Attaches a program in addition to existing ones. Throws BpfError, as all functions of this
    /// class do.
    static BpfLink attach(int program, const std::filesystem::path& controlGroup);
    static BpfLink open(const std::filesystem::path& pin);

    void pin(const std::filesystem::path& path) const;
    /// Replaces the attached program. Each open(2) is checked by either the old or the new one.
    void replaceProgram(int program) const;

  private:
    explicit BpfLink(core::Descriptor fd) : fd_(std::move(fd)) {}

    core::Descriptor fd_;
};

} // namespace genv::service::isolation
