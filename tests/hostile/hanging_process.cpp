// SPDX-License-Identifier: LGPL-2.1-or-later
#include "tests/hostile/hanging_process.hpp"

#include "core/base/glibc_pidfd.hpp"
#include "tests/bus/support/processes.hpp"

#include <fcntl.h>
#include <linux/fuse.h>
#include <poll.h>
#include <sched.h>
#include <sys/mman.h>
#include <sys/mount.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <chrono>
#include <csignal>
#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <thread>
#include <vector>

namespace genv::tests {

namespace {

using Way = HangingProcess::Way;

constexpr int page = 4096;

bool isReadable(int fd, int timeout) {
    pollfd waiting{fd, POLLIN, 0};
    return ::poll(&waiting, 1, timeout) > 0;
}

void put(const char* file, const std::string& text) {
    std::ofstream(file) << text;
}

// A file system with one file. No page of it is ever read, and no descriptor of it ever closes. It
// writes to `reached` when a process waits for it. The first reads fail: the kernel tries again,
// and then holds mmap_lock while it waits.
class Server {
  public:
    Server(int device, int failedReads, int reached)
        : device_(device), failures_(failedReads), reached_(reached) {}

    [[noreturn]] void serve() {
        std::vector<char> buffer(1U << 18U);
        for (;;) {
            const ssize_t size = ::read(device_, buffer.data(), buffer.size()); // one request
            if (size < 0 && (errno == EINTR || errno == ENOENT))
                continue;
            if (size < static_cast<ssize_t>(sizeof(fuse_in_header)))
                ::_exit(0);
            fuse_in_header request{};
            std::memcpy(&request, buffer.data(), sizeof request);
            if (request.opcode == FUSE_INTERRUPT)
                letGo(buffer.data() + sizeof request);
            else
                answer(request);
        }
    }

  private:
    void answer(const fuse_in_header& request) {
        switch (request.opcode) {
        case FUSE_INIT: {
            fuse_init_out init{};
            init.major = FUSE_KERNEL_VERSION;
            init.minor = 31;
            init.max_write = page;
            init.time_gran = 1;
            reply(request, init);
            break;
        }
        case FUSE_LOOKUP: {
            fuse_entry_out entry{};
            entry.nodeid = 2;
            entry.entry_valid = entry.attr_valid = 1000;
            entry.attr = attributes(2);
            reply(request, entry);
            break;
        }
        case FUSE_GETATTR: {
            fuse_attr_out out{};
            out.attr_valid = 1000;
            out.attr = attributes(request.nodeid);
            reply(request, out);
            break;
        }
        case FUSE_OPEN:
            reply(request, fuse_open_out{});
            break;
        case FUSE_READ:
            if (failures_-- > 0)
                refuse(request, EIO);
            else
                reportReached();
            break;
        case FUSE_FLUSH:
            reportReached();
            break;
        case FUSE_FORGET:
        case FUSE_BATCH_FORGET:
            break;
        default:
            refuse(request, ENOSYS);
        }
    }

    // No signal ends a process that waits for an answer, so it gets the answer EINTR.
    void letGo(const char* argument) const {
        fuse_interrupt_in interrupt{};
        std::memcpy(&interrupt, argument, sizeof interrupt);
        fuse_in_header waiting{};
        waiting.unique = interrupt.unique;
        refuse(waiting, EINTR);
    }

    static fuse_attr attributes(std::uint64_t node) {
        fuse_attr attributes{};
        attributes.ino = node;
        attributes.nlink = 1;
        attributes.mode = node == 1 ? S_IFDIR | 0755U : S_IFREG | 0644U;
        attributes.size = node == 1 ? 0 : page;
        attributes.blksize = page;
        return attributes;
    }
    template <typename Value>
    void reply(const fuse_in_header& request, const Value& value) const {
        std::array<char, sizeof(fuse_out_header) + sizeof(Value)> packet{};
        const fuse_out_header header{static_cast<std::uint32_t>(packet.size()), 0, request.unique};
        std::memcpy(packet.data(), &header, sizeof header);
        std::memcpy(packet.data() + sizeof header, &value, sizeof value);
        send(packet.data(), packet.size());
    }
    void refuse(const fuse_in_header& request, int error) const {
        const fuse_out_header header{sizeof header, -error, request.unique};
        send(&header, sizeof header);
    }
    void send(const void* data, std::size_t size) const {
        if (::write(device_, data, size) < 0 && errno != ENOENT) // of a canceled request
            ::_exit(1);
    }
    void reportReached() const {
        if (::write(reached_, "x", 1) != 1)
            ::_exit(1);
    }

    int device_;
    int failures_;
    int reached_;
};

// Mounts the file system below `folder`, in a user and a mount namespace of the user. Returns the
// device, or sets the reason for the failure.
int mountOwn(const std::string& folder, core::Uid uid, std::string& why) {
    if (::setresgid(uid, uid, uid) != 0 || ::setresuid(uid, uid, uid) != 0)
        why = "another user";
    ::prctl(PR_SET_DUMPABLE, 1);
    if (why.empty() && ::unshare(CLONE_NEWUSER | CLONE_NEWNS) != 0)
        why = "a user namespace";
    put("/proc/self/setgroups", "deny");
    put("/proc/self/uid_map", "0 " + std::to_string(uid) + " 1");
    put("/proc/self/gid_map", "0 " + std::to_string(uid) + " 1");
    const int device = why.empty() ? ::open((folder + "/device").c_str(), O_RDWR | O_CLOEXEC) : -1;
    if (why.empty() && device < 0)
        why = "/dev/fuse";
    const std::string options =
        "fd=" + std::to_string(device) + ",rootmode=40000,user_id=0,group_id=0";
    if (why.empty() && ::mount("hang", (folder + "/mount").c_str(), "fuse", MS_NOSUID | MS_NODEV,
                               options.c_str()) != 0)
        why = "a mount of FUSE";
    if (!why.empty())
        why += std::string(" is not to be had: ") + std::strerror(errno);
    return device;
}

[[noreturn]] void beVictim(const std::string& folder, Way way, int trigger, int reached) {
    const std::string file = folder + "/mount/file";
    const int fd = ::open(file.c_str(), O_RDONLY | O_CLOEXEC);
    char byte = 0;
    if (fd < 0 || ::read(trigger, &byte, 1) != 1)
        ::_exit(1);
    if (way == Way::Exec) {
        ::execl("/usr/bin/tail", "tail", "-f", "/dev/null", nullptr);
        ::_exit(1);
    }
    ::signal(SIGBUS, [](int) { ::_exit(1); }); // the page arrived, as an error
    void* mapping = ::mmap(nullptr, page, PROT_READ, MAP_PRIVATE, fd, 0);
    std::thread([&] {
        const volatile char first = *static_cast<const volatile char*>(mapping);
        static_cast<void>(first);
    }).detach();
    if (mapping == MAP_FAILED || ::read(reached, &byte, 1) != 1)
        ::_exit(1);
    for (;;)
        ::munmap(::mmap(nullptr, page, PROT_READ, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0), page);
}

struct Victim {
    std::string folder;
    core::Uid uid;
    bool compute;
    Way way;
    int failedReads;
};

// Writes the victim's PID, or the reason for the failure.
[[noreturn]] void beServer(const Victim& wanted, int trigger, int output) {
    std::string why;
    std::array<int, 2> reached{};
    const int fuse = mountOwn(wanted.folder, wanted.uid, why);
    ::prctl(PR_SET_PDEATHSIG, SIGKILL);
    pid_t victim = 0;
    if (why.empty() && ::pipe2(reached.data(), O_CLOEXEC) == 0)
        victim = ::fork();
    if (why.empty() && victim == 0) {
        ::prctl(PR_SET_PDEATHSIG, SIGKILL);
        ::close(fuse);
        if (wanted.compute)
            ::prctl(PR_SET_NAME, computeProcessName);
        beVictim(wanted.folder, wanted.way, trigger, reached[0]);
    }
    const std::string text = why.empty() ? std::to_string(victim) : why;
    if (::write(output, text.data(), text.size()) < 0 || !why.empty())
        ::_exit(1);
    ::close(output);
    Server(fuse, wanted.failedReads, reached[1]).serve();
}

} // namespace

HangingProcess::HangingProcess(core::Uid uid, bool compute, Way way, int failedReads)
    : folder_(std::filesystem::temp_directory_path() / "genv-hang-XXXXXX") {
    if (::mkdtemp(folder_.data()) == nullptr)
        throw NoHanging("no folder");
    ::chmod(folder_.c_str(), 0755);
    ::mkdir((folder_ + "/mount").c_str(), 0755);
    const std::string device = folder_ + "/device";
    if (::mknod(device.c_str(), S_IFCHR | 0666U, makedev(10, 229)) != 0 ||
        ::chmod(device.c_str(), 0666) != 0)
        throw NoHanging(std::string("a node of /dev/fuse is not to be had: ") +
                        std::strerror(errno));
    std::array<int, 2> output{};
    std::array<int, 2> commands{};
    if (::pipe2(output.data(), O_CLOEXEC) != 0 || ::pipe2(commands.data(), O_CLOEXEC) != 0)
        throw NoHanging("no pipe");
    server_ = ::fork();
    if (server_ == 0)
        beServer({folder_, uid, compute, way, failedReads}, commands[0], output[1]);
    ::close(output[1]);
    ::close(commands[0]);
    trigger_ = commands[1];
    std::array<char, 256> text{};
    const ssize_t size = ::read(output[0], text.data(), text.size() - 1);
    ::close(output[0]);
    victim_ = size > 0 ? std::atoi(text.data()) : 0;
    if (victim_ == 0)
        throw NoHanging(text.data());
    pidfd_ = ::pidfd_open(victim_, 0);
}

HangingProcess::~HangingProcess() {
    if (victim_ > 0)
        ::kill(victim_, SIGKILL);
    ::kill(server_, SIGKILL); // its end releases every process that waits for it
    ::waitpid(server_, nullptr, 0);
    ::close(trigger_);
    ::close(pidfd_);
    std::error_code ignored;
    std::filesystem::remove_all(folder_, ignored);
}

bool HangingProcess::hang(const std::string& file) const {
    if (::write(trigger_, "x", 1) != 1)
        return false;
    const auto deadline = std::chrono::steady_clock::now() + std::chrono::seconds{3};
    while (!hasEnded() && std::chrono::steady_clock::now() < deadline) {
        if (hangsReaders(pid(), file, 1000))
            return true;
    }
    return false;
}

bool HangingProcess::hasEnded() const {
    return isReadable(pidfd_, 0);
}

bool HangingProcess::hangsReaders(core::Pid pid, const std::string& file, int timeout) {
    const std::string path = "/proc/" + std::to_string(pid) + "/" + file;
    const pid_t reader = ::fork();
    if (reader == 0) {
        std::array<char, page> buffer{};
        const int fd = ::open(path.c_str(), O_RDONLY | O_CLOEXEC);
        ::_exit(fd >= 0 && ::read(fd, buffer.data(), buffer.size()) >= 0 ? 0 : 1);
    }
    const int pidfd = ::pidfd_open(reader, 0);
    const bool hangs = !isReadable(pidfd, timeout);
    ::close(pidfd);
    ::kill(reader, SIGKILL);
    ::waitpid(reader, nullptr, 0);
    return hangs;
}

} // namespace genv::tests
