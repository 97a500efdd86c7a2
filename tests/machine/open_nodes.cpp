// SPDX-License-Identifier: LGPL-2.1-or-later
// Opens device nodes and reports the results. Linked statically, so that it also runs in an
// otherwise empty container.
//   open-nodes NODE...        prints a word for each: "opened", or the name of the error
//   open-nodes --watch NODE WORD
//                             prints "began"; opens until standard input ends, and then prints the
//                             number of opens, and how many had another result than WORD
//   open-nodes --grants MAP   prints a pinned map of grants, a line each: MAJOR:MINOR UID
//   open-nodes --kill-at-grant MAP MAJOR MINOR UID PID MICROSECONDS
//                             prints "waits"; waits until the map has this grant, and then that
//                             much longer, and kills the process
#include <fcntl.h>
#include <linux/bpf.h>
#include <poll.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <chrono>
#include <csignal>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <string>
#include <string_view>

namespace {

// The maximum delay before it notices a grant: shorter than the time until a reply.
constexpr useconds_t LOOK_MICROSECONDS = 20;

std::string tryToOpen(const char* node) {
    const int fd = ::open(node, O_RDWR | O_CLOEXEC);
    if (fd < 0)
        return ::strerrorname_np(errno);
    ::close(fd);
    return "opened";
}

int watch(const char* node, std::string_view expected) {
    constexpr unsigned opensBetweenLooks = 256;
    std::puts("began");
    std::fflush(stdout);
    std::uint64_t count = 0;
    std::uint64_t wrong = 0;
    std::string last;
    for (pollfd input{STDIN_FILENO, POLLIN, 0};
         count % opensBetweenLooks != 0 || ::poll(&input, 1, 0) == 0; ++count) {
        if (const std::string found = tryToOpen(node); found != expected) {
            ++wrong;
            last = found;
        }
    }
    std::printf("%llu opens, %llu wrong%s%s\n", static_cast<unsigned long long>(count),
                static_cast<unsigned long long>(wrong), wrong != 0 ? ", the last with " : "",
                last.c_str());
    return wrong != 0 ? 1 : 0;
}

int bpf(int command, bpf_attr& attributes) {
    return static_cast<int>(::syscall(SYS_bpf, command, &attributes, sizeof(attributes)));
}

using Grant = std::array<std::uint32_t, 3>; // major, minor, uid

int openMap(const char* path) {
    bpf_attr object{};
    object.pathname = reinterpret_cast<std::uint64_t>(path);
    object.file_flags = BPF_F_RDONLY;
    const int map = bpf(BPF_OBJ_GET, object);
    if (map < 0)
        std::fprintf(stderr, "open-nodes: %s: %s\n", path, std::strerror(errno));
    return map;
}

int printGrants(const char* path) {
    const int map = openMap(path);
    if (map < 0)
        return 1;
    Grant key{};
    bpf_attr next{};
    next.map_fd = static_cast<std::uint32_t>(map);
    next.next_key = reinterpret_cast<std::uint64_t>(key.data());
    while (bpf(BPF_MAP_GET_NEXT_KEY, next) == 0) {
        std::printf("%u:%u %u\n", key[0], key[1], key[2]);
        next.key = reinterpret_cast<std::uint64_t>(key.data());
    }
    return 0;
}

int killAtGrant(const char* path, const Grant& grant, pid_t pid, std::chrono::microseconds delay) {
    const int map = openMap(path);
    if (map < 0)
        return 1;
    std::uint32_t value = 0;
    bpf_attr lookup{};
    lookup.map_fd = static_cast<std::uint32_t>(map);
    lookup.key = reinterpret_cast<std::uint64_t>(grant.data());
    lookup.value = reinterpret_cast<std::uint64_t>(&value);
    std::puts("waits");
    std::fflush(stdout);
    // Busy waiting would starve genvd, which adds the grant at a lower priority.
    while (bpf(BPF_MAP_LOOKUP_ELEM, lookup) != 0)
        ::usleep(LOOK_MICROSECONDS);
    using Clock = std::chrono::steady_clock;
    for (const auto end = Clock::now() + delay; Clock::now() < end;) {
    }
    return ::kill(pid, SIGKILL) == 0 ? 0 : 1;
}

std::uint32_t toNumber(const char* text) {
    return static_cast<std::uint32_t>(std::strtoul(text, nullptr, 10));
}

} // namespace

int main(int argc, char** argv) {
    if (argc == 4 && std::strcmp(argv[1], "--watch") == 0)
        return watch(argv[2], argv[3]);
    if (argc == 3 && std::strcmp(argv[1], "--grants") == 0)
        return printGrants(argv[2]);
    if (argc == 8 && std::strcmp(argv[1], "--kill-at-grant") == 0)
        return killAtGrant(argv[2], {toNumber(argv[3]), toNumber(argv[4]), toNumber(argv[5])},
                           static_cast<pid_t>(toNumber(argv[6])),
                           std::chrono::microseconds(toNumber(argv[7])));
    for (int i = 1; i < argc; ++i)
        std::printf("%s%s", i > 1 ? " " : "", tryToOpen(argv[i]).c_str());
    std::puts("");
    return argc > 1 ? 0 : 2;
}
