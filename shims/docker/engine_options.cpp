// SPDX-License-Identifier: LGPL-2.1-or-later
#include "shims/docker/engine_options.hpp"

#include <algorithm>

namespace genv::shims {

namespace {

// The options that podman accepts before its command and also passes down to its commands.
const OptionTable podmanOptions{
    "cdi-spec-dir cgroup-manager cni-config-dir conmon cpu-profile db-backend default-mounts-file"
    " events-backend hooks-dir imagestore log-level max-workers memory-profile module namespace"
    " network-cmd-path network-config-dir out pull-option registries-conf root runroot runtime"
    " runtime-flag storage-driver storage-opt tmpdir volumepath",
    "help noout syslog trace transient-store"};

} // namespace

const OptionTable globalOptions{
    "config c/context c/connection H/host l/log-level tlscacert tlscert tlskey"
    " identity ssh tls-ca tls-cert tls-key url",
    "D/debug h/help r/remote tls tlsverify v/version", &podmanOptions};

const OptionTable runOptions{
    "add-host annotation arch a/attach authfile blkio-weight blkio-weight-device cap-add cap-drop"
    " cert-dir cgroup-conf cgroup-parent cgroupns cgroups chrootdirs cidfile conmon-pidfile"
    " cpu-count cpu-percent cpu-period cpu-quota cpu-rt-period cpu-rt-runtime c/cpu-shares cpus"
    " cpuset-cpus cpuset-mems creds decryption-key detach-keys device device-cgroup-rule"
    " device-read-bps device-read-iops device-write-bps device-write-iops dns dns-opt dns-option"
    " dns-search domainname entrypoint e/env env-file env-merge expose gidmap gpus group-add"
    " group-entry health-cmd health-interval health-log-destination health-max-log-count"
    " health-max-log-size health-on-failure health-retries health-start-interval"
    " health-start-period health-startup-cmd health-startup-interval health-startup-retries"
    " health-startup-success health-startup-timeout health-timeout healthcheck-command"
    " healthcheck-interval healthcheck-retries healthcheck-start-period healthcheck-timeout"
    " h/hostname hosts-file hostuser image-volume init-ctr init-path io-maxbandwidth io-maxiops ip"
    " ip6 ipc"
    " isolation kernel-memory l/label label-file link link-local-ip log-driver log-opt mac-address"
    " m/memory memory-reservation memory-swap memory-swappiness mount name net net-alias network"
    " network-alias oom-score-adj os override-arch override-os override-variant passwd-entry"
    " personality pid pidfile pids-limit platform pod pod-id-file preserve-fd preserve-fds"
    " p/publish pull rdt-class requires restart retry retry-delay sdnotify seccomp-policy secret"
    " security-opt shm-size shm-size-systemd signature-policy stop-signal stop-timeout"
    " subgidname subuidname sysctl systemd timeout tmpfs tz uidmap ulimit umask unsetenv u/user"
    " userns uts variant v/volume volume-driver volumes-from w/workdir",
    "d/detach disable-content-trust env-host http-proxy init i/interactive no-healthcheck"
    " no-hostname no-hosts oom-kill-disable passwd privileged P/publish-all q/quiet read-only"
    " read-only-tmpfs replace rm rmi rootfs sig-proxy tls-verify t/tty unsetenv-all"
    " use-api-socket",
    &podmanOptions};

const OptionTable execOptions{"cidfile detach-keys e/env env-file preserve-fd preserve-fds u/user"
                              " w/workdir",
                              "d/detach i/interactive l/latest no-session privileged t/tty",
                              &podmanOptions};

const OptionTable composeOptions{"ansi env-file f/file parallel profile progress project-directory"
                                 " p/project-name workdir",
                                 "all-resources compatibility dry-run h/help no-ansi verbose"
                                 " v/version"};

const OptionTable composeRunOptions{
    "cap-add cap-drop entrypoint e/env env-from-file l/label l/labels name p/publish pull u/user"
    " v/volume v/volumes w/workdir",
    "build d/detach dry-run help i/interactive T/no-TTY T/no-tty no-build no-deps q/quiet"
    " quiet-build quiet-pull remove-orphans rm P/service-ports t/tty use-aliases"};

const OptionTable composeExecOptions{"e/env index u/user w/workdir",
                                     "d/detach dry-run help i/interactive T/no-TTY T/no-tty"
                                     " privileged t/tty"};

namespace {

// A word in a table.
struct Entry {
    std::string_view name;
    char letter = 0;
};

template <typename Matches>
std::optional<std::string> findIn(std::string_view words, const Matches& matches) {
    while (!words.empty()) {
        const std::string_view word = words.substr(0, words.find(' '));
        words.remove_prefix(std::min(word.size() + 1, words.size()));
        const bool hasLetter = word.size() > 2 && word[1] == '/';
        const Entry entry{hasLetter ? word.substr(2) : word, hasLetter ? word[0] : '\0'};
        if (matches(entry))
            return std::string(entry.name);
    }
    return std::nullopt;
}

template <typename Matches>
std::optional<Option> find(const OptionTable& table, const Matches& matches) {
    if (auto name = findIn(table.values, matches))
        return Option{std::move(*name), true};
    if (auto name = findIn(table.switches, matches))
        return Option{std::move(*name), false};
    if (table.inherited != nullptr)
        return find(*table.inherited, matches);
    return std::nullopt;
}

} // namespace

std::optional<Option> findOption(const OptionTable& table, std::string_view name) {
    return find(table, [&](const Entry& entry) { return entry.name == name && !name.empty(); });
}

std::optional<Option> findOption(const OptionTable& table, char letter) {
    return find(table,
                [&](const Entry& entry) { return entry.letter == letter && letter != '\0'; });
}

} // namespace genv::shims
