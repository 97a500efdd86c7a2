// SPDX-License-Identifier: LGPL-2.1-or-later
// Host names from command lines and files. They become words of ssh's command line.
#include "client/genvctl/remote/known_hosts.hpp"
#include "client/remote/ssh/host.hpp"
#include "client/remote/ssh/ssh.hpp"
#include "tests/fuzz/target.hpp"

#include <algorithm>

namespace genv::fuzz::hosts {

void expectHarmless(const remote::Host& host) {
    expectShowable(host.label(), "a host's label can be shown");
    expect(!host.name.empty() && host.name.front() != '-', "a host's name is no option");
    expect(!host.user || (!host.user->empty() && host.user->front() != '-'),
           "a user's name is no option");
    const auto isWordByte = [](char byte) { return byte > 0x20 && byte < 0x7f; };
    expect(std::ranges::all_of(host.name, isWordByte), "a host's name is one plain word");
    remote::Host again = remote::readHost(host.label());
    again.user = host.user;
    expect(again == host, "a label is read as the host that it is of");
}

template <typename Read>
void tryReading(Read read) {
    try {
        read();
    } catch (const remote::InvalidHost& error) {
        expectShowable(error.what(), "why a host is refused can be shown");
    }
}

void expectEachOnce(std::vector<remote::Host> all) {
    expect(!all.empty(), "a list that is taken names a host");
    std::ranges::for_each(all, expectHarmless);
    for (std::size_t i = 0; i < std::min<std::size_t>(all.size(), 16); ++i)
        expect(std::ranges::count(all, all[i]) == 1, "a host that is named twice is one");
}

GENV_FUZZ_TARGET(hosts) {
    static const ForeignFile file;
    static const ForeignFolder sshFolder;
    tryReading([&] { expectHarmless(remote::readHost(input)); });
    tryReading([&] { expectEachOnce(remote::readHosts(input)); });
    file.fill(input);
    tryReading([&] { expectEachOnce(remote::readHostFile(file.path())); });
    sshFolder.fill("config", input);
    sshFolder.fill("known_hosts", input);
    for (const std::string& known : ctl::knownHosts(sshFolder.path()))
        expectHarmless(remote::readHost(known));
    expectShowable(remote::lastLine(input), "the last line of what ssh says can be shown");
    const std::string quoted = remote::quotedForShell(input);
    expect(quoted.size() >= 2 || quoted == input, "a word stays a word");
}

} // namespace genv::fuzz::hosts
