// SPDX-License-Identifier: LGPL-2.1-or-later
#include "service/isolation/bpf.hpp"

#include "core/base/text.hpp"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>

namespace genv::service::isolation {

namespace {

using core::Descriptor;

// The kernel takes addresses as numbers, even those of memory that it only reads.
std::uint64_t address(const void* pointer) {
    return reinterpret_cast<std::uintptr_t>(pointer);
}

// The kernel receives the whole union. Bytes after the members that a command reads must be 0.
bpf_attr emptyAttributes() {
    bpf_attr attributes; // NOLINT(cppcoreguidelines-pro-type-member-init)
    std::memset(&attributes, 0, sizeof attributes);
    return attributes;
}

int call(bpf_cmd command, bpf_attr& attributes) {
    return static_cast<int>(::syscall(SYS_bpf, command, &attributes, sizeof attributes));
}

Descriptor open(bpf_cmd command, bpf_attr& attributes, const std::string& what) {
    Descriptor fd(call(command, attributes));
    if (!fd.isOpen())
        throw BpfError("cannot " + what, errno);
    return fd;
}

template <std::size_t size>
void copyName(char (&to)[size], std::string_view name) {
    std::copy_n(name.begin(), std::min(name.size(), size - 1), to);
}

void pinObject(int fd, const std::filesystem::path& path) {
    bpf_attr attributes = emptyAttributes();
    attributes.pathname = address(path.c_str());
    attributes.bpf_fd = static_cast<std::uint32_t>(fd);
    if (call(BPF_OBJ_PIN, attributes) != 0)
        throw BpfError(fmt::format("cannot pin {}", path.string()), errno);
}

Descriptor openPin(const std::filesystem::path& path) {
    bpf_attr attributes = emptyAttributes();
    attributes.pathname = address(path.c_str());
    return open(BPF_OBJ_GET, attributes, fmt::format("open {}", path.string()));
}

// The verifier's findings are at the end of its log.
std::string endOf(const std::vector<char>& log) {
    constexpr std::size_t maxLength = 600;
    std::string_view text(log.data());
    while (!text.empty() && text.back() == '\n')
        text.remove_suffix(1);
    if (text.size() > maxLength)
        text.remove_prefix(text.size() - maxLength);
    return core::printable(text);
}

} // namespace

BpfError::BpfError(const std::string& what, int error)
    : std::runtime_error(fmt::format("{}: {}", what, std::strerror(error))), error_(error) {}

UntypedMap UntypedMap::create(const MapLayout& layout) {
    bpf_attr attributes = emptyAttributes();
    attributes.map_type = layout.type;
    attributes.key_size = layout.keySize;
    attributes.value_size = layout.valueSize;
    attributes.max_entries = layout.maxEntries;
    attributes.map_flags = layout.flags;
    copyName(attributes.map_name, layout.name);
    return UntypedMap(
        isolation::open(BPF_MAP_CREATE, attributes, fmt::format("make the map {}", layout.name)));
}

UntypedMap UntypedMap::open(const std::filesystem::path& pin) {
    return UntypedMap(openPin(pin));
}

bpf_map_info UntypedMap::describe() const {
    bpf_map_info info{}; // an older kernel requires 0 in members that it does not know
    bpf_attr attributes = emptyAttributes();
    attributes.info.bpf_fd = static_cast<std::uint32_t>(fd_.get());
    attributes.info.info_len = sizeof info;
    attributes.info.info = address(&info);
    if (call(BPF_OBJ_GET_INFO_BY_FD, attributes) != 0)
        throw BpfError("cannot read a map's layout", errno);
    return info;
}

bool UntypedMap::has(const MapLayout& layout) const {
    const bpf_map_info info = describe();
    return hasEntriesOf(layout) && info.max_entries == layout.maxEntries &&
           info.map_flags == layout.flags;
}

bool UntypedMap::hasEntriesOf(const MapLayout& layout) const {
    const bpf_map_info info = describe();
    return info.type == layout.type && info.key_size == layout.keySize &&
           info.value_size == layout.valueSize && info.name == layout.name;
}

void UntypedMap::pin(const std::filesystem::path& path) const {
    pinObject(fd_.get(), path);
}

bool UntypedMap::find(const void* key, void* value) const {
    bpf_attr attributes = emptyAttributes();
    attributes.map_fd = static_cast<std::uint32_t>(fd_.get());
    attributes.key = address(key);
    attributes.value = address(value);
    if (call(BPF_MAP_LOOKUP_ELEM, attributes) == 0)
        return true;
    if (errno == ENOENT)
        return false;
    throw BpfError("cannot read a map", errno);
}

void UntypedMap::put(const void* key, const void* value) const {
    bpf_attr attributes = emptyAttributes();
    attributes.map_fd = static_cast<std::uint32_t>(fd_.get());
    attributes.key = address(key);
    attributes.value = address(value);
    attributes.flags = BPF_ANY;
    if (call(BPF_MAP_UPDATE_ELEM, attributes) != 0)
        throw BpfError("cannot write to a map", errno);
}

bool UntypedMap::remove(const void* key) const {
    bpf_attr attributes = emptyAttributes();
    attributes.map_fd = static_cast<std::uint32_t>(fd_.get());
    attributes.key = address(key);
    if (call(BPF_MAP_DELETE_ELEM, attributes) == 0)
        return true;
    if (errno == ENOENT)
        return false;
    throw BpfError("cannot remove from a map", errno);
}

bool UntypedMap::next(const void* key, void* following) const {
    bpf_attr attributes = emptyAttributes();
    attributes.map_fd = static_cast<std::uint32_t>(fd_.get());
    attributes.key = address(key);
    attributes.next_key = address(following);
    if (call(BPF_MAP_GET_NEXT_KEY, attributes) == 0)
        return true;
    if (errno == ENOENT)
        return false;
    throw BpfError("cannot list a map", errno);
}

Descriptor loadDeviceProgram(std::span<const bpf_insn> instructions, const char* name) {
    bpf_attr attributes = emptyAttributes();
    attributes.prog_type = BPF_PROG_TYPE_CGROUP_DEVICE;
    attributes.insns = address(instructions.data());
    attributes.insn_cnt = static_cast<std::uint32_t>(instructions.size());
    attributes.license = address("LGPL-2.1-or-later");
    copyName(attributes.prog_name, name);
    Descriptor program(call(BPF_PROG_LOAD, attributes));
    if (program.isOpen())
        return program;

    const int error = errno;
    std::vector<char> verifierLog(std::size_t{1} << 16);
    attributes.log_buf = address(verifierLog.data());
    attributes.log_size = static_cast<std::uint32_t>(verifierLog.size());
    attributes.log_level = 1;
    Descriptor again(call(BPF_PROG_LOAD, attributes));
    if (again.isOpen())
        return again;
    const std::string verdict = endOf(verifierLog);
    throw BpfError("cannot load the program" +
                       (verdict.empty() ? "" : fmt::format(" (the kernel: {})", verdict)),
                   error);
}

BpfLink BpfLink::attach(int program, const std::filesystem::path& controlGroup) {
    const Descriptor group(::open(controlGroup.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
    if (!group.isOpen())
        throw BpfError(fmt::format("cannot open the control group {}", controlGroup.string()),
                       errno);
    bpf_attr attributes = emptyAttributes();
    attributes.link_create.prog_fd = static_cast<std::uint32_t>(program);
    attributes.link_create.target_fd = static_cast<std::uint32_t>(group.get());
    attributes.link_create.attach_type = BPF_CGROUP_DEVICE;
    return BpfLink(isolation::open(BPF_LINK_CREATE, attributes,
                                   fmt::format("attach the program to {}", controlGroup.string())));
}

BpfLink BpfLink::open(const std::filesystem::path& pin) {
    return BpfLink(openPin(pin));
}

void BpfLink::pin(const std::filesystem::path& path) const {
    pinObject(fd_.get(), path);
}

void BpfLink::replaceProgram(int program) const {
    bpf_attr attributes = emptyAttributes();
    attributes.link_update.link_fd = static_cast<std::uint32_t>(fd_.get());
    attributes.link_update.new_prog_fd = static_cast<std::uint32_t>(program);
    if (call(BPF_LINK_UPDATE, attributes) != 0)
        throw BpfError("cannot replace the program", errno);
}

} // namespace genv::service::isolation
