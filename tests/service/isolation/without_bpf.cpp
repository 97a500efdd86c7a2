// SPDX-License-Identifier: LGPL-2.1-or-later
// Runs a program as on a kernel with fewer features, by a seccomp filter on bpf(2).
//   without-bpf program-type PROGRAM [ARGUMENT...]   no program can be loaded: EINVAL
//   without-bpf system-call PROGRAM [ARGUMENT...]    there is no bpf(2): ENOSYS
#include <linux/bpf.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <array>
#include <bit>
#include <cerrno>
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <string_view>

namespace {

// The lower half of the system call's first argument.
constexpr std::uint32_t commandOffset =
    offsetof(seccomp_data, args) + (std::endian::native == std::endian::big ? 4 : 0);

constexpr std::uint32_t answer(int error) {
    return SECCOMP_RET_ERRNO | static_cast<std::uint32_t>(error);
}

constexpr sock_filter load(std::uint32_t offset) {
    return {BPF_LD | BPF_W | BPF_ABS, 0, 0, offset};
}

/// Skips this number of instructions unless the loaded word is `value`.
constexpr sock_filter unlessEqual(std::uint32_t value, std::uint8_t skipped) {
    return {BPF_JMP | BPF_JEQ | BPF_K, 0, skipped, value};
}

constexpr sock_filter finish(std::uint32_t action) {
    return {BPF_RET | BPF_K, 0, 0, action};
}

template <std::size_t size>
bool install(std::array<sock_filter, size> filter) {
    const sock_fprog program{static_cast<unsigned short>(size), filter.data()};
    return ::prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) == 0 &&
           ::prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &program) == 0;
}

bool installNamed(std::string_view lacking) {
    if (lacking == "program-type")
        return install(std::array{load(offsetof(seccomp_data, nr)), unlessEqual(SYS_bpf, 3),
                                  load(commandOffset), unlessEqual(BPF_PROG_LOAD, 1),
                                  finish(answer(EINVAL)), finish(SECCOMP_RET_ALLOW)});
    if (lacking == "system-call")
        return install(std::array{load(offsetof(seccomp_data, nr)), unlessEqual(SYS_bpf, 1),
                                  finish(answer(ENOSYS)), finish(SECCOMP_RET_ALLOW)});
    errno = EINVAL;
    return false;
}

} // namespace

int main(int argc, char** argv) {
    if (argc < 3 || !installNamed(argv[1])) {
        std::perror("without-bpf");
        return 125;
    }
    ::execv(argv[2], argv + 2);
    std::perror(argv[2]);
    return 126;
}
