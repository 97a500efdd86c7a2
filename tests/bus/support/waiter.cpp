// SPDX-License-Identifier: LGPL-2.1-or-later
// waiter NAME DESCRIPTOR: takes a process name, writes to the descriptor when it is ready, and
// waits until it is killed.
#include <sys/prctl.h>
#include <unistd.h>

#include <csignal>
#include <cstdlib>

int main(int argc, char** argv) {
    if (argc < 3)
        return 2;
    ::prctl(PR_SET_PDEATHSIG, SIGKILL);
    ::prctl(PR_SET_NAME, argv[1]);
    const int ready = std::atoi(argv[2]);
    const pid_t self = ::getpid();
    if (::write(ready, &self, sizeof(self)) != sizeof(self))
        return 1;
    ::close(ready);
    for (;;)
        ::pause();
}
