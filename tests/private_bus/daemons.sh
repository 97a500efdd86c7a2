# shellcheck shell=bash
# SPDX-License-Identifier: LGPL-2.1-or-later
# Starts, stops and awaits the bus and polkitd of one private bus. `inside` and `control` source it, always within the
# namespace. GENV_PRIVATE_BUS is the temporary folder, with a NAME.pid and a NAME.log for each daemon. Nothing waits for
# a fixed time: each wait is for a condition, and fails with the logs if the daemon has ended or the deadline is over.

folder=${GENV_PRIVATE_BUS:?is set by private-bus}
readonly folder
readonly polkitName=org.freedesktop.PolicyKit1
readonly deadlineSeconds=120

# The descriptor by which the clean-up in `private-bus` sees that this namespace still exists. Only PID 1 has it.
readonly aliveFd=9

fail() {
    local log
    printf 'private-bus: %s\n' "$1" >&2
    for log in "$folder"/*.log; do
        [[ -s $log ]] || continue
        printf -- '--- last lines of %s\n' "${log##*/}" >&2
        tail -n 20 "$log" >&2
    done
    exit 1
}

daemonPid() { cat "$folder/$1.pid" 2>/dev/null || true; }

isRunning() {
    local pid
    pid=$(daemonPid "$1")
    [[ -n $pid ]] && kill -0 "$pid" 2>/dev/null
}

# startDaemon NAME COMMAND...: starts a daemon in a session of its own, so that Ctrl-C at the terminal does not end it.
startDaemon() {
    local name=$1
    shift
    setsid -- "$@" </dev/null >>"$folder/$name.log" 2>&1 {aliveFd}>&- &
    printf '%s\n' $! >"$folder/$name.pid"
}

# awaitFrom NAME WHAT CONDITION...: waits until the condition holds, as long as the daemon NAME runs.
awaitFrom() {
    local name=$1 what=$2 deadline=$((SECONDS + deadlineSeconds))
    shift 2
    until "$@"; do
        isRunning "$name" || fail "$name ended before $what"
        ((SECONDS < deadline)) || fail "$name: $what did not come within $deadlineSeconds seconds"
        sleep 0.005
    done
}

# Returns whether a stream socket accepts connections (the kernel's flag for listening), without connecting: a
# connection would make systemd-socket-activate start the daemon behind it.
isListening() { grep -q " 00010000 .* $1\$" /proc/net/unix; }

ownsName() {
    [[ $(gdbus call --system --dest org.freedesktop.DBus --object-path /org/freedesktop/DBus \
        --method org.freedesktop.DBus.NameHasOwner "$1" 2>/dev/null) == "(true,)" ]]
}

# Starts the real journald, which keeps its records in memory, without a rate limit. It is not a systemd service here:
# it would otherwise open files below RUNTIME_DIRECTORY instead of /run.
startJournal() {
    mkdir -p /run/log/journal /run/systemd/journald.conf.d
    cat >/run/systemd/journald.conf.d/private.conf <<'TEXT'
[Journal]
Storage=volatile
ReadKMsg=no
Audit=no
RateLimitIntervalSec=0
RuntimeMaxUse=64M
TEXT
    startDaemon journal env -u RUNTIME_DIRECTORY -u STATE_DIRECTORY /lib/systemd/systemd-journald
    awaitFrom journal "its socket" test -S /run/systemd/journal/io.systemd.journal
}

startBus() {
    local socket=$folder/bus.sock
    rm -f "$socket"
    if [[ $(cat "$folder/bus-kind") == dbus-broker ]]; then
        startDaemon bus systemd-socket-activate -E DBUS_SYSTEM_BUS_ADDRESS --listen="$socket" \
            dbus-broker-launch --config-file="$folder/bus.conf" --scope system
    else
        startDaemon bus dbus-daemon --config-file="$folder/bus.conf" --nofork --nopidfile
    fi
    awaitFrom bus "its socket" isListening "$socket"
    chmod 666 "$socket"
}

# Without a library to preload, polkitd runs unmodified.
startPolkitd() {
    local preload version options=()
    preload=$(cat "$folder/polkitd-preload")
    # polkitd 128 logs at this level, and 126 by default, that it has loaded rules (rulesLoaded).
    version=$(pkaction --version)
    ((${version##* } <= 126)) || options=(--log-level=info)
    startDaemon polkitd env ${preload:+LD_PRELOAD="$preload"} /usr/lib/polkit-1/polkitd "${options[@]}"
    gdbus wait --system --timeout "$deadlineSeconds" "$polkitName" 2>>"$folder/polkitd.log" ||
        fail "polkitd did not take its name on the bus"
}

# The helper that checks passwords is setuid, or, as with polkit 128 on Debian sid, agents reach it through the socket of
# polkit-agent-helper.socket.
startAgentHelper() {
    local helper=/usr/lib/polkit-1/polkit-agent-helper-1 socket=/run/polkit/agent-helper.socket
    [[ ! -u $helper ]] || return 0
    mkdir -p "${socket%/*}"
    startDaemon agent-helper systemd-socket-activate --accept --inetd --listen="$socket" "$helper" --socket-activated
    # The kernel's list of sockets has those of other private buses with the same path.
    awaitFrom agent-helper "its socket" test -S "$socket"
    chmod 666 "$socket"
}

# stopDaemon NAME: stops a daemon, even if a test has stopped it with SIGSTOP. It is not an error if the daemon does not
# run.
stopDaemon() {
    local pid deadline=$((SECONDS + deadlineSeconds))
    pid=$(daemonPid "$1")
    rm -f "$folder/$1.pid"
    [[ -n $pid ]] || return 0
    kill -TERM "$pid" 2>/dev/null || return 0
    kill -CONT "$pid" 2>/dev/null || true
    while kill -0 "$pid" 2>/dev/null; do
        ((SECONDS < deadline)) || fail "$1 (pid $pid) does not end"
        sleep 0.005
    done
}

stopPolkitd() {
    local deadline=$((SECONDS + deadlineSeconds))
    stopDaemon polkitd
    while ownsName "$polkitName"; do
        ((SECONDS < deadline)) || fail "the bus still knows polkitd"
        sleep 0.005
    done
}

# polkitd compiles the rules at each change in rules.d and logs that.
rulesLoaded() { grep -c 'Finished loading, compiling and executing' "$folder/polkitd.log" || true; }
rulesLoadedSince() { (($(rulesLoaded) > $1)); }
