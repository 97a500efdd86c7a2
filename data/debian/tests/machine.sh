# shellcheck shell=sh
# SPDX-License-Identifier: LGPL-2.1-or-later
# Shared parts of the tests of the installed packages: a machine with four GPUs, simulated as an administrator
# configures it, and two ordinary users. Each test leaves the service as it was.
set -eu
work=${AUTOPKGTEST_TMP:?autopkgtest gives each test a folder}
cd "$work"

configuration=/etc/genv/genvd.conf.d/debian-tests.conf
unit=/run/systemd/system/genvd.service.d/debian-tests.conf

# Restarts the service. The starts by other tests and by the packages do not count against its start limit.
restart() {
    systemctl daemon-reload
    systemctl reset-failed genvd.service
    systemctl restart genvd.service
}

restore() {
    status=$?
    rm -f "$configuration" "$unit"
    restart
    exit "$status"
}
trap restore EXIT

mkdir -p "${unit%/*}"
printf '[GPU]\nBackend=simulated\n' >"$configuration"
printf '[Service]\nEnvironment=GENV_MOCK_DEVICE_COUNT=4\n' >"$unit"
restart
for user in genv-tester genv-other; do
    id "$user" >/dev/null 2>&1 || useradd --create-home --shell /bin/sh "$user"
done
chmod 755 "$work"

fail() {
    printf '%s\n' "$*" >&2
    exit 1
}

# as USER COMMAND...: runs a command without a session, as a cron job runs.
as() {
    user=$1
    shift
    runuser -u "$user" -- "$@"
}

# expect STATUS COMMAND...: expects that the command exits with this status, whatever its output is.
expect() {
    expected=$1 status=0
    shift
    "$@" >"$work/output" 2>&1 || status=$?
    [ "$status" = "$expected" ] || fail "\"$*\" ended with $status, not $expected: $(cat "$work/output")"
}

# hold COMMAND...: starts a command and returns once it has written a line, which is then in $held. release sends it a
# line, and waits for its end.
hold() {
    rm -f "$work/in" "$work/out"
    mkfifo "$work/in" "$work/out"
    exec 8<>"$work/in"
    "$@" <"$work/in" >"$work/out" 8>&- &
    holder=$!
    # shellcheck disable=SC2034  # the tests read it
    read -r held <"$work/out" || fail "\"$*\" said nothing"
}

release() {
    echo >&8
    wait "$holder"
}
