# shellcheck shell=bash
# SPDX-License-Identifier: LGPL-2.1-or-later
# Starts, stops and awaits the bus and polkitd of one private bus; sourced by `inside` and `control`, always within the
# namespace. GENV_PRIVATE_BUS is the temporary folder, where each daemon has a NAME.pid and a NAME.log. Nothing here takes
# a fixed time: each wait is for a condition, and fails with the logs when the daemon has ended or the deadline is over.

folder=${GENV_PRIVATE_BUS:?is set by private-bus}
readonly folder
readonly polkitName=org.freedesktop.PolicyKit1
readonly deadlineSeconds=30

# Descriptor that tells the clean-up in `private-bus` that this namespace still lives: for pid 1 only.
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

# startDaemon NAME COMMAND...: in a session of its own, so that Ctrl-C at the terminal does not end it.
startDaemon() {
    local name=$1
    shift
    setsid -- "$@" </dev/null >>"$folder/$name.log" 2>&1 {aliveFd}>&- &
    printf '%s\n' $! >"$folder/$name.pid"
}

# awaitFrom NAME WHAT CONDITION...: until the condition holds, as long as the daemon NAME runs.
awaitFrom() {
    local name=$1 what=$2 deadline=$((SECONDS + deadlineSeconds))
    shift 2
    until "$@"; do
        isRunning "$name" || fail "$name ended before $what"
        ((SECONDS < deadline)) || fail "$name: $what did not come within $deadlineSeconds seconds"
        sleep 0.005
    done
}

# Whether a stream socket accepts (the kernel's flag for listening), without connecting: a connection would make
# systemd-socket-activate start the daemon behind it.
isListening() { grep -q " 00010000 .* $1\$" /proc/net/unix; }

ownsName() {
    [[ $(gdbus call --system --dest org.freedesktop.DBus --object-path /org/freedesktop/DBus \
        --method org.freedesktop.DBus.NameHasOwner "$1" 2>/dev/null) == "(true,)" ]]
}

# The real journald, which keeps what it gets in memory, with no limit to what one writes. It is not a service of systemd's
# here: what it would open below RUNTIME_DIRECTORY belongs below /run.
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
    startDaemon journal env -u RUNTIME_DIRECTORY /lib/systemd/systemd-journald
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

# Without a library to preload polkitd runs as it is.
startPolkitd() {
    local preload
    preload=$(cat "$folder/polkitd-preload")
    startDaemon polkitd env ${preload:+LD_PRELOAD="$preload"} /usr/lib/polkit-1/polkitd
    gdbus wait --system --timeout "$deadlineSeconds" "$polkitName" 2>>"$folder/polkitd.log" ||
        fail "polkitd did not take its name on the bus"
}

# stopDaemon NAME: also one that a test has stopped with SIGSTOP. Nothing to do is no error.
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

# polkitd compiles the rules on each change in rules.d and says so in its log.
rulesLoaded() { grep -c 'Finished loading, compiling and executing' "$folder/polkitd.log" || true; }
rulesLoadedSince() { (($(rulesLoaded) > $1)); }
