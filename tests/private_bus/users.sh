# shellcheck shell=bash
# SPDX-License-Identifier: LGPL-2.1-or-later
# The users of the private bus: alice (1001), bob (1002) and carol (1003), each in a group of the same name; bob and
# carol are in `students`, carol is in `gpu-admins`. They are in copies of the host's user database, which `inside`
# mounts over /etc, so the host's files are not changed. The password of root and carol is `gpu-for-all`. Alice and bob
# have none, so only root and carol can answer an authentication prompt.

readonly userNames=(alice bob carol)
readonly firstUid=1001
# openssl passwd -6 -salt privatebus gpu-for-all
# shellcheck disable=SC2016  # the dollar signs are the hash's own
readonly knownPassword='$6$privatebus$Jd/grZk5tNv9N8lB6u2g8G1hJS7/9R9eGgQGUiZAazARf2voZSc7BAkxSdrgSj/7jkE.oQpf4GWRZ47ENv2RW.'

# writeUsers FOLDER: makes FOLDER/etc/{passwd,group,shadow} and the homes in FOLDER/home.
writeUsers() {
    local folder=$1 name uid
    local names='alice|bob|carol' groups='alice|bob|carol|students|gpu-admins'
    mkdir -p "$folder/etc" "$folder/home"

    awk -F: -v names="^($names)$" '$1 !~ names && $3 !~ /^100[123]$/' /etc/passwd >"$folder/etc/passwd"
    awk -F: -v names="^($groups)$" '$1 !~ names && $3 !~ /^(100[123]|110[12])$/' /etc/group >"$folder/etc/group"
    install -m 640 -g shadow /dev/null "$folder/etc/shadow"
    awk -F: -v OFS=: -v names="^($names)$" -v hash="$knownPassword" \
        '$1 ~ names { next } $1 == "root" { $2 = hash } { print }' /etc/shadow >"$folder/etc/shadow"

    uid=$firstUid
    for name in "${userNames[@]}"; do
        printf '%s:x:%d:%d:%s:%s:/bin/bash\n' "$name" "$uid" "$uid" "${name^}" "$folder/home/$name" \
            >>"$folder/etc/passwd"
        printf '%s:x:%d:\n' "$name" "$uid" >>"$folder/etc/group"
        if [[ $name == carol ]]; then
            printf '%s:%s:19000:0:99999:7:::\n' "$name" "$knownPassword" >>"$folder/etc/shadow"
        else
            printf '%s:!:19000:0:99999:7:::\n' "$name" >>"$folder/etc/shadow"
        fi
        install -d -m 700 -o "$uid" -g "$uid" "$folder/home/$name"
        uid=$((uid + 1))
    done
    printf 'students:x:1101:bob,carol\ngpu-admins:x:1102:carol\n' >>"$folder/etc/group"
}
