# shellcheck shell=bash
# SPDX-License-Identifier: LGPL-2.1-or-later
# Login-like shells of several users that stay open between the steps of `tour`. Each line is printed as if it were
# typed. A shell reads its lines from a pipe and writes each exit status, and its prompt, into another. This also runs
# the hooks of an interactive shell before the prompt, because their output is part of the tour.

boldText='' headingText='' plainText=''
if [[ -t 1 && -z ${NO_COLOR-} ]]; then
    boldText=$'\e[1m' headingText=$'\e[36m' plainText=$'\e[0m'
fi

section() { printf '\n%s--- %s%s\n' "$headingText" "$1" "$plainText"; }

declare -A sessionPid sessionInput sessionAnswer
mismatches=0

send() { printf '%s\n' "$2" >&"${sessionInput[$1]}"; }

answer() { # answer USER: the next line from the user's shell, in $line
    if ! read -r -t 120 line <&"${sessionAnswer[$1]}"; then
        printf 'The shell of %s does not answer.\n' "$1" >&2
        exit 1
    fi
}

openSession() {
    local user=$1 pipes=$GENV_PRIVATE_BUS/sessions/$1 input answers
    mkdir -p "$pipes"
    mkfifo "$pipes/input" "$pipes/answers"
    chown -R "$user" "$pipes"
    exec {answers}<>"$pipes/answers"
    sessionAnswer[$user]=$answers
    "$GENV_PRIVATE_BUS/as-user" "$user" bash --noprofile --norc <"$pipes/input" &
    sessionPid[$user]=$!
    exec {input}>"$pipes/input"
    sessionInput[$user]=$input
    send "$user" "exec 9>'$pipes/answers'; PS1='$user\\$ '"
}

showPrompt() {
    local line
    # shellcheck disable=SC2016  # expanded by the user's shell
    send "$1" 'for hook in "${PROMPT_COMMAND[@]}"; do eval "$hook"; done </dev/null; printf "%s\n" "${PS1@P}" >&9'
    answer "$1"
    printf '%s%s %s%s\n' "$boldText" "${line% }" "$2" "$plainText"
}

# step USER STATUS LINE: runs the line in the user's shell, which must end with that exit status.
step() {
    local user=$1 wanted=$2 command=$3 line
    showPrompt "$user" "$command"
    send "$user" "eval ${command@Q} </dev/null"
    # shellcheck disable=SC2016
    send "$user" 'echo $? >&9'
    answer "$user"
    if [[ $line != "$wanted" ]]; then
        printf '(exit status %s, and not the expected %s)\n' "$line" "$wanted"
        mismatches=$((mismatches + 1))
    fi
}

closeSession() {
    showPrompt "$1" exit
    send "$1" exit
    wait "${sessionPid[$1]}" || true
    unset "sessionPid[$1]" "sessionInput[$1]" "sessionAnswer[$1]"
}
