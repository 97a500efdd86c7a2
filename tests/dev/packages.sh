# shellcheck shell=bash
# SPDX-License-Identifier: LGPL-2.1-or-later
# The packages that ./dev needs, and the installation of missing ones. The caller defines `say` and
# `die`.

tree=$(readlink -f "${BASH_SOURCE[0]%/*}/../..")
requirements=$tree/data/packaging/requirements
osRelease=/etc/os-release
# The releases to name in errors about old or missing packages.
supported="Debian 12 or 13"

# requirementsOf COLUMN [NAMES]: prints the packages in a column of the table, 2 for Debian, 3 for
# Fedora or 4 for Arch, without those of the NAMES that are joined by |.
requirementsOf() {
    awk -F ' *\\| *' -v column="$1" -v without="^(${2-})\$" '/^[^#]/ && $1 !~ without { print $column }' "$requirements" |
        sort -u | paste -sd ' '
}

# Tests and benchmarks are part of the build, so a build needs their libraries.
#
# Names joined by | are alternatives; the first one in the distribution is used. If the list ends
# with |, the package is optional, and the command that needs it reports what it skips. The
# distributions differ in:
#   Debian 12: Clang 14
#   Debian 13: Clang 19, but no clang-format 14, which defines the format of the sources. Clang 19
#              also compiles the gate's program to other instructions.
declare -A packages=(
    # The preset "demo" builds without the rest.
    [demo]="$(requirementsOf 2 'GTest|GMock|benchmark|EXPAT|prometheus-cpp-core|libcurl|libmicrohttpd|ncursesw')
        dbus polkitd libglib2.0-bin mount util-linux"
    [build]=$(requirementsOf 2)
    [test]="dbus dbus-broker polkitd systemd systemd-journal-remote libglib2.0-bin mount util-linux util-linux-extra git
        zsh fish bash-completion prometheus strace abigail-tools python3-venv mandoc groff-base rpm rpmlint
        python3-ipykernel python3-jupyter-client
        python3-jeepney python3-pytest python3-pip python3-setuptools python3-wheel
        dunst xvfb python3-dbus python3-dbusmock desktop-file-utils libxml2-utils
        openssh-client openssh-server iproute2 procps tmux
        cockpit-bridge cockpit-system cockpit-ws sudo chromium chromium-driver python3-selenium python3-gi nodejs node-typescript
        mmdebstrap systemd-container clang-14| python3-clang-14|"
    [slurm]="slurmctld slurmd slurm-client munge iproute2 slurmdbd slurm-wlm-mysql-plugin mariadb-server-core
        mariadb-client-core"
    [on]="mmdebstrap mount util-linux util-linux-extra"
    [bench]="gnuplot-nox task-spooler slurmctld slurmd slurm-client munge iproute2"
    [coverage]="gcovr"
    [fuzz]="clang-14|clang-19 libclang-rt-14-dev|libclang-rt-19-dev"
    [lint]="clang-14| clang-format-14| clang-tidy-14| libclang-14-dev| llvm-14-dev| cppcheck shellcheck
        libxml2-utils polkitd libdbus-1-dev zsh fish mypy pyflakes3 python3-jeepney"
    [package]="build-essential debhelper dpkg-dev dh-python pybuild-plugin-pyproject python3-all python3-setuptools
        lintian appstream desktop-file-utils libxml2-utils polkitd systemd"
)

systemName() {
    # shellcheck source=/dev/null
    [[ -r $osRelease ]] && (. "$osRelease" && printf '%s' "${PRETTY_NAME-${NAME-}}")
}

# needApt: ends ./dev if there is no apt, and prints the names of the required packages in this
# distribution.
needApt() {
    local name family='' packages
    ! { command -v dpkg-query && command -v apt-get && command -v apt-cache; } >/dev/null || return 0
    name=$(systemName) || name=''
    # shellcheck source=/dev/null
    [[ ! -r $osRelease ]] || family=$(. "$osRelease" && printf ' %s %s ' "${ID-}" "${ID_LIKE-}")
    case $family in
    *' fedora '* | *' rhel '*) packages=$(requirementsOf 3) ;;
    *' arch '*) packages=$(requirementsOf 4) ;;
    *) packages="what Debian calls $(requirementsOf 2), and Fedora $(requirementsOf 3)" ;;
    esac
    die "${name:-this system} has no apt, which ./dev uses on $supported to install packages; to build genv with cmake, install $packages"
}

isInstalled() { [[ $(dpkg-query -W -f '${db:Status-Status}' "$1" 2>/dev/null) == installed ]]; }

# candidate PACKAGE: prints the version that apt would install. Fails if apt does not know the
# package.
candidate() {
    local version
    version=$(LC_ALL=C apt-cache policy "$1" 2>/dev/null | sed -n 's/^  Candidate: //p')
    [[ -n $version && $version != '(none)' ]] && printf '%s\n' "$version"
}

# choose ALTERNATIVES...: sets `chosen` to the packages to install, and `unknown` to those without
# any alternative in apt.
choose() {
    local alternatives package names
    chosen=() unknown=()
    for alternatives; do
        IFS='|' read -ra names <<<"$alternatives"
        for package in "${names[@]}"; do
            if candidate "$package" >/dev/null; then
                chosen+=("$package")
                continue 2
            fi
        done
        [[ $alternatives == *'|' ]] || unknown+=("${names[0]}")
    done
}

# refuseUnknown: ends ./dev with a message if this distribution lacks packages, listed in `unknown`,
# or has one that is too old.
refuseUnknown() {
    local version names
    if ((${#unknown[@]})); then
        names=$(awk -F ' *\\| *' -v package="${unknown[0]}" '$2 == package {
            printf ", which Fedora calls %s and Arch %s", $3, $4 }' "$requirements")
        ((${#unknown[@]} == 1)) || names+=", and ${#unknown[@]} packages in all: ${unknown[*]}"
        die "$(systemName) has no package ${unknown[0]}$names; ./dev needs $supported"
    fi
    if [[ " ${chosen[*]} " == *" libsdbus-c++-dev "* ]]; then
        version=$(candidate libsdbus-c++-dev)
        dpkg --compare-versions "$version" ge 1.2 ||
            die "$(systemName) has sdbus-c++ $version (libsdbus-c++-dev), and genv needs 1.2 or later; ./dev needs $supported"
    fi
}

# Installing dbus-broker makes it the system bus from the next boot on. The tests need only the
# program.
keepSystemBus() {
    systemctl disable dbus-broker.service
    systemctl --global disable dbus-broker.service
} >/dev/null 2>&1

# keepServiceOff SERVICE: stops and disables a service. Installing Prometheus, Slurm or an SSH
# server starts it, now and at each boot, and an SSH server listens on all networks. The tests start
# their own.
keepServiceOff() {
    if [[ -d /run/systemd/system ]]; then
        systemctl disable --now "$1.service"
    else
        systemctl disable "$1.service" && "/etc/init.d/$1" stop
    fi
} >/dev/null 2>&1

# Installing Cockpit enables only its socket.
keepCockpitOff() {
    if [[ -d /run/systemd/system ]]; then
        systemctl disable --now cockpit.socket
    else
        systemctl disable cockpit.socket
    fi
} >/dev/null 2>&1

# keepOff PACKAGE...: stops and disables the services that these packages start on installation.
keepOff() {
    if [[ " $* " == *" dbus-broker "* ]] && ! keepSystemBus; then
        printf 'dev: note: dbus-broker may be the system bus from the next boot on\n' >&2
    fi
    if [[ " $* " == *" prometheus "* ]] && ! keepServiceOff prometheus; then
        printf 'dev: note: Prometheus may be running, now and after the next boot\n' >&2
    fi
    if [[ " $* " == *" openssh-server "* ]] && ! keepServiceOff ssh; then
        printf 'dev: note: an SSH server may be running, now and after the next boot\n' >&2
    fi
    if [[ " $* " == *" cockpit-ws "* ]] && ! keepCockpitOff; then
        printf 'dev: note: Cockpit may be listening, now and after the next boot\n' >&2
    fi
    local slurm
    for slurm in slurmctld slurmd munge; do
        if [[ " $* " == *" $slurm "* ]] && ! keepServiceOff "$slurm"; then
            printf 'dev: note: %s may be running, now and after the next boot\n' "$slurm" >&2
        fi
    done
}

# missingOf GROUP...: sets `missing` to the packages of these groups without an installed
# alternative.
missingOf() {
    local group alternatives package names
    missing=()
    for group in "$@"; do
        for alternatives in ${packages[$group]}; do
            IFS='|' read -ra names <<<"$alternatives"
            for package in "${names[@]}"; do
                ! isInstalled "$package" || continue 2
            done
            missing+=("$alternatives")
        done
    done
}

# ensure GROUP...: installs the missing packages of these groups.
ensure() {
    local missing chosen unknown updated=''
    needApt
    missingOf "$@"
    ((${#missing[@]})) || return 0
    # The lists may be missing, or contain versions that the mirror no longer has.
    if ! compgen -G '/var/lib/apt/lists/*_Packages*' >/dev/null; then
        ((EUID == 0)) || die "apt has no lists of packages yet, and these packages are missing: ${missing[*]%%|*}
Run: sudo $tree/dev deps $*"
        apt-get update -q
        updated=1
    fi
    choose "${missing[@]}"
    if ((${#unknown[@]} && EUID == 0)) && [[ -z $updated ]]; then
        apt-get update -q
        updated=1
        choose "${missing[@]}"
    fi
    refuseUnknown
    ((${#chosen[@]})) || return 0
    ((EUID == 0)) || die "these packages are missing: ${chosen[*]}
Run: sudo $tree/dev deps $*"

    say "installing ${chosen[*]}"
    local install=(apt-get install -y -q --no-install-recommends "${chosen[@]}")
    export DEBIAN_FRONTEND=noninteractive
    if ! "${install[@]}"; then
        [[ -z $updated ]] || return 1
        apt-get update -q
        "${install[@]}"
    fi
    keepOff "${chosen[@]}"
}

deps() {
    (($#)) || set -- build test bench coverage fuzz lint package
    local group
    for group in "$@"; do
        [[ -n ${packages[$group]-} ]] ||
            die "unknown group \"$group\": expected demo, build, test, slurm, on, bench, coverage, fuzz, lint or package" 2
    done
    ensure "$@"
}
