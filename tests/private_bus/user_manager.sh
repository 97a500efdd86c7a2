# shellcheck shell=bash
# SPDX-License-Identifier: LGPL-2.1-or-later
# A user's bus and the real systemd --user, as logind starts them at the first login: in the control groups that
# private-bus made (groups.sh), with /run/user/UID as XDG_RUNTIME_DIR. There is no logind. `inside` and `control` source
# this after daemons.sh. The user's bus passes the activation of services on to the manager, as the real one does.

here=$(dirname "$(readlink -f "${BASH_SOURCE[0]}")")
# shellcheck source=tests/private_bus/groups.sh
. "$here/groups.sh"


runtimeFolder() { printf '/run/user/%s\n' "$(userId "$1")"; }

# Of the host's units the user's manager has only those that every one needs. Its bus is the one of the system bus's
# kind, as the package dbus-user-session or dbus-broker configures it.
mountUserUnits() {
    local units=/usr/lib/systemd/user own=/run/user-units hidden
    mkdir -p /run/systemd/system $own/sockets.target.wants # the first one tells programs that systemd is in charge
    cp "$units"/{*.target,*.slice,systemd-exit.service} $own/
    ln -s ../dbus.socket $own/sockets.target.wants/
    printf '[Socket]\nListenStream=%%t/bus\n' >$own/dbus.socket
    if [[ $(cat "$folder/bus-kind") == dbus-broker ]]; then
        cat >$own/dbus.service <<'TEXT'
[Service]
Type=notify
Sockets=dbus.socket
ExecStart=dbus-broker-launch --scope user
TEXT
    else
        cat >$own/dbus.service <<'TEXT'
[Service]
Type=notify
NotifyAccess=main
ExecStart=dbus-daemon --session --address=systemd: --nofork --nopidfile --systemd-activation --syslog-only
TEXT
    fi
    mount --bind $own "$units"
    for hidden in /etc/systemd/user /usr/local/lib/systemd/user /usr/share/systemd/user /usr/local/share/systemd/user; do
        [[ ! -d $hidden ]] || mount -t tmpfs -o mode=755 tmpfs "$hidden"
    done
}

# In memory, so that fsync is quick, and small, so that a test can fill it.
mountHome() {
    mount -t tmpfs -o "mode=700,uid=$(userId "$1"),gid=$(id -g "$1"),size=${GENV_HOME_SIZE:-64M}" tmpfs "$folder/home/$1"
}

# startAsUser USER NAME COMMAND...: starts a daemon of the user in the user's control groups.
startAsUser() {
    local user=$1 name=$2 group groups=()
    shift 2
    while read -r group; do
        groups+=("$group/${folder##*/}/$user")
    done < <(hierarchies)
    # shellcheck disable=SC2016  # expanded by the inner shell
    startDaemon "$name" bash -c 'until [[ $1 == -- ]]; do printf "%s\n" $$ >"$1/cgroup.procs" || exit 1; shift; done
        shift; exec "$@"' - "${groups[@]}" -- \
        "$folder/as-user" "$user" env XDG_RUNTIME_DIR="$(runtimeFolder "$user")" \
        XDG_DATA_DIRS="$folder/user-data:/usr/local/share:/usr/share" "$@"
}

managerIsUp() {
    local state
    state=$("$folder/as-user" "$1" systemctl --user is-system-running 2>/dev/null || true)
    [[ $state == running || $state == degraded ]]
}

# The first connection starts the bus, and the manager takes its name on it once it runs.
managerIsOnBus() { "$folder/as-user" "$1" busctl --user status org.freedesktop.systemd1 >/dev/null 2>&1; }

startUserManager() {
    local user=$1 runtime
    runtime=$(runtimeFolder "$user")
    install -d -m 755 /run/user
    install -d -m 700 -o "$user" -g "$user" "$runtime"
    startAsUser "$user" "user-manager.$user" /lib/systemd/systemd --user --log-target=journal
    # Without its private socket, systemctl would activate the manager over the bus, and wait for that.
    awaitFrom "user-manager.$user" "its socket" test -S "$runtime/systemd/private"
    awaitFrom "user-manager.$user" "its start" managerIsUp "$user"
    awaitFrom "user-manager.$user" "its name" managerIsOnBus "$user"
}

processesOf() {
    local hierarchy
    while read -r hierarchy; do
        find "$hierarchy/${folder##*/}/$1" -name cgroup.procs -exec cat {} + 2>/dev/null || true
    done < <(hierarchies)
}

killUserManager() {
    # shellcheck disable=SC2154  # of daemons.sh
    local user=$1 pids deadline=$((SECONDS + deadlineSeconds))
    while pids=$(processesOf "$user" | sort -u) && [[ -n $pids ]]; do
        # shellcheck disable=SC2086
        kill -KILL $pids 2>/dev/null || true
        ((SECONDS < deadline)) || fail "processes of $user do not end"
        sleep 0.005
    done
    rm -f "$folder/user-manager.$user.pid"
    rm -rf "$(runtimeFolder "$user")"
}

stopUserManager() {
    stopDaemon "user-manager.$1"
    killUserManager "$1"
}
