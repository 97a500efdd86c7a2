// SPDX-License-Identifier: LGPL-2.1-or-later
#include "tests/service/isolation/gate_machine.hpp"

#include "core/base/error.hpp"

#include <fcntl.h>
#include <fmt/format.h>
#include <grp.h>
#include <linux/capability.h>
#include <sched.h>
#include <sys/mount.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/sysmacros.h>
#include <sys/utsname.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <csignal>
#include <cstdio>
#include <cstring>
#include <fstream>
#include <sstream>
#include <stdexcept>
#include <utility>

namespace genv::tests {

namespace {

using service::isolation::BpfLink;
using service::isolation::GateMap;
using service::isolation::gateMaps;
using service::isolation::GateMapSet;
using service::isolation::UntypedMap;

[[noreturn]] void fail(const std::string& what) {
    throw std::runtime_error(fmt::format("{}: {}", what, std::strerror(errno)));
}

std::filesystem::path unifiedHierarchy() {
    std::ifstream mounts("/proc/self/mounts");
    for (std::string line; std::getline(mounts, line);) {
        std::istringstream words(line);
        std::string device;
        std::string place;
        std::string type;
        words >> device >> place >> type;
        if (type == "cgroup2")
            return place;
    }
    return {};
}

void mountAt(const char* type, const std::filesystem::path& place) {
    std::filesystem::create_directory(place);
    if (::mount(type, place.c_str(), type, 0, nullptr) != 0)
        fail(fmt::format("mount {}", type));
}

} // namespace

std::string whyNoGate() {
    if (::geteuid() != 0)
        return "needs root, to load a program";
    try {
        const GateMachine machine;
        if (machine.open(gpu, 0) != GateMachine::Opening::LetThrough)
            return "this machine refuses device nodes to root";
        constexpr bpf_insn allow[] = {{BPF_ALU64 | BPF_MOV | BPF_K, BPF_REG_0, 0, 0, 1},
                                      {BPF_JMP | BPF_EXIT, 0, 0, 0, 0}};
        const core::Descriptor program = service::isolation::loadDeviceProgram(allow, "genv_probe");
        BpfLink::attach(program.get(), machine.controlGroup());
        return "";
    } catch (const std::exception& error) {
        return error.what();
    }
}

bool kernelReportsProcess() {
    utsname kernel{};
    int version = 0;
    int minor = 0;
    return ::uname(&kernel) == 0 && std::sscanf(kernel.release, "%d.%d", &version, &minor) == 2 &&
           std::pair(version, minor) >= std::pair(6, 1);
}

bool isInFirstPidNamespace() {
    std::error_code none;
    // PROC_PID_INIT_INO of the kernel.
    return std::filesystem::read_symlink("/proc/self/ns/pid", none) == "pid:[4026531836]";
}

void keepOnlyCapabilities(std::initializer_list<int> capabilities) {
    __user_cap_header_struct header{_LINUX_CAPABILITY_VERSION_3, 0};
    __user_cap_data_struct data[_LINUX_CAPABILITY_U32S_3] = {};
    for (const int capability : capabilities) {
        const std::uint32_t bit = 1U << (capability % 32);
        data[capability / 32].effective |= bit;
        data[capability / 32].permitted |= bit;
    }
    if (::syscall(SYS_capset, &header, data) != 0)
        fail("capset");
}

GateMachine::GateMachine() {
    const std::filesystem::path hierarchy = unifiedHierarchy();
    if (hierarchy.empty())
        throw std::runtime_error("this machine has no control groups of version 2");
    if (::unshare(CLONE_NEWNS) != 0 ||
        ::mount(nullptr, "/", nullptr, MS_REC | MS_PRIVATE, nullptr) != 0)
        fail("no mount namespace");
    std::string name = (std::filesystem::temp_directory_path() / "genv-gate-XXXXXX").string();
    if (::mkdtemp(name.data()) == nullptr)
        fail("no temporary folder");
    folder_ = name;
    std::filesystem::permissions(folder_, std::filesystem::perms(0755));
    mountAt("bpf", folder_ / "bpf");
    mountAt("tmpfs", folder_ / "nodes"); // the folder itself may be mounted with nodev
    group_ = hierarchy / folder_.filename();
    if (::mkdir(group_.c_str(), 0755) != 0)
        fail(fmt::format("mkdir {}", group_.string()));
}

GateMachine::~GateMachine() {
    for (const char* name : {"bpf", "nodes"})
        ::umount2((folder_ / name).c_str(), MNT_DETACH);
    std::error_code ignored;
    std::filesystem::remove_all(folder_, ignored);
    std::ofstream(group_ / "cgroup.kill") << "1" << std::flush;
    while (::rmdir(group_.c_str()) != 0 && errno == EBUSY) // until the last process has ended
        ::sched_yield();
}

void GateMachine::write(const std::string& name, const std::string& text) const {
    std::ofstream(folder_ / name) << text;
}

void GateMachine::putUpGate(std::uint32_t major) const {
    std::filesystem::create_directory(pins());
    for (const GateMap map : gateMaps)
        UntypedMap::create(layoutOf(map)).pin(pins() / pinName(map));
    const GateMapSet maps = GateMapSet::open(pins());
    maps.mode.put(GENV_MODE_ENTRY, GENV_MODE_REFUSE);
    maps.majors.put(major, 1);
    const core::Descriptor program = loadGateProgram(maps);
    BpfLink::attach(program.get(), group_).pin(pins() / service::isolation::linkPin);
}

int GateMachine::inGroup(core::Uid uid, const std::function<int()>& act,
                         std::optional<core::Uid> effective) const {
    const pid_t child = ::fork();
    if (child < 0)
        fail("fork");
    if (child == 0) {
        std::ofstream(group_ / "cgroup.procs") << "0" << std::flush;
        const core::Uid other = effective.value_or(uid);
        if (::setgroups(0, nullptr) != 0 || ::setresuid(uid, other, other) != 0)
            ::_exit(254);
        ::prctl(PR_SET_PDEATHSIG, SIGKILL); // the change of the uid clears it
        int status = 253;
        try {
            status = act();
        } catch (const std::exception& error) {
            fmt::print(stderr, "in a child: {}\n", error.what());
        }
        ::_exit(status);
    }
    int status = 0;
    while (::waitpid(child, &status, 0) < 0 && errno == EINTR) {
    }
    return WIFEXITED(status) ? WEXITSTATUS(status) : 255;
}

GateMachine::Opening GateMachine::open(core::DeviceNode node, core::Uid uid,
                                       std::optional<core::Uid> effective) const {
    const std::filesystem::path path = pathOf(node);
    return static_cast<Opening>(inGroup(
        uid, [&] { return static_cast<int>(tryToOpen(path)); }, effective));
}

GateMachine::Opening GateMachine::openWithoutGate(core::DeviceNode node, core::Uid uid) const {
    Opening opening = open(node, uid);
    for (int n = 0; n < 1000 && opening == Opening::Refused; ++n)
        opening = open(node, uid);
    return opening;
}

std::filesystem::path GateMachine::pathOf(core::DeviceNode node) const {
    std::filesystem::path path = folder_ / "nodes" / fmt::format("{}-{}", node.major, node.minor);
    if (::mknod(path.c_str(), S_IFCHR | 0666, ::makedev(node.major, node.minor)) == 0)
        ::chmod(path.c_str(), 0666);
    else if (errno != EEXIST)
        fail("mknod");
    return path;
}

GateMachine::Opening tryToOpen(const std::filesystem::path& path) {
    const core::Descriptor node(::open(path.c_str(), O_RDWR | O_CLOEXEC));
    if (node.isOpen() || errno == ENXIO) // with ENXIO only the driver is missing
        return GateMachine::Opening::LetThrough;
    return errno == EPERM ? GateMachine::Opening::Refused : GateMachine::Opening::Failed;
}

} // namespace genv::tests
