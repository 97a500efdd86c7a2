# shellcheck shell=bash
# SPDX-License-Identifier: LGPL-2.1-or-later
# What ./dev does with a build beside testing it: packages, the demo, the kit, benchmarks. ./dev
# sources this file, and defines `root`.
# shellcheck disable=SC2119,SC2120,SC2154

package() {
    ensure build package
    build release --target programs
    say "packaging"
    data/packaging/build-packages --prebuilt build/release "$@" build/package build/packages
    mkdir -p build/packages/debug
    rm -f build/packages/debug/*.deb
    mv build/packages/*-dbgsym_*.deb build/packages/debug/
    noteOwner
    say "built; debug symbols are in build/packages/debug"
    ls -1 build/packages/*.deb
}

installHere() {
    local debs
    ((EUID == 0)) || die "install needs root; run: sudo $root/dev install"
    package
    mapfile -t debs < <(find "$root/build/packages" -maxdepth 1 -name '*.deb' | sort)
    say "installing"
    apt-get install -y --reinstall --allow-downgrades "${debs[@]}"
    say "installed; to remove everything again, run: sudo apt purge $(printf '%s\n' "${debs[@]}" |
        sed 's,.*/,,; s,_.*,,' | paste -sd ' ')"
}

demo() {
    needRoot demo
    ensure demo
    build demo
    noteOwner
    exec tests/private_bus/demo build/demo
}

# gpuKit [FILE]: packs the kit that tries genv on a machine with GPUs.
gpuKit() {
    local file=${1-build/genv-gpu-kit.tar.xz}
    (($# <= 1)) || die "gpu-kit takes one file" 2
    needRoot gpu-kit
    ensure build test
    build release --target gpu_kit_programs
    say "packing"
    tests/gpu/make-kit build/release "$file"
    noteOwner
}

bench() {
    local status=0
    needRoot bench
    ensure build test bench
    build release
    say "measuring"
    bench/run build/release "$@" || status=$?
    noteOwner
    return "$status"
}
