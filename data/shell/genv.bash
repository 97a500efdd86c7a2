# shellcheck shell=bash
# SPDX-License-Identifier: LGPL-2.1-or-later
# genv in bash: eval "$(genvctl shell --init)". A program cannot change the shell that runs it, so the function genv runs
# genvctl and then evaluates the lines that genvctl sends on a descriptor of their own: calls of the functions below with
# quoted words. Everything here starts with __genv but for genv and genvctl themselves.
#
# The genvctl that printed this; it sets this on the line before.
: "${__genv_program:=genvctl}"

# What an activation sets, but for PATH and PS1, which are extended.
__genv_names=(GENV_SHELL GENV_ENVIRONMENT_ID GENV_ENVIRONMENT_NAME GENV_GPU_MEMORY GENV_GPUS
    CUDA_VISIBLE_DEVICES CUDA_DEVICE_ORDER)

# What a variable was before the activation, by its name. They must be associative at any time: bash would evaluate the
# value of a variable named in another array's subscript.
if [[ $(declare -p __genv_state 2>/dev/null) != "declare -A"* ]]; then
    unset -v __genv_state __genv_value
    declare -gA __genv_state=() __genv_value=()
fi

genv() {
    local __genv_word
    for __genv_word in "$@"; do
        case $__genv_word in
        -*) ;;
        activate | deactivate | attach | detach | config)
            __genv_call "$@"
            return
            ;;
        *) break ;;
        esac
    done
    command "$__genv_program" "$@"
}

genvctl() { genv "$@"; }

# Runs a command that may change this shell. Its input, output and messages are the caller's; its status is returned.
__genv_call() {
    local __genv_code __genv_status=0 __genv_output __genv_pid=$BASHPID
    { exec {__genv_output}>&1; } 2>/dev/null || exec {__genv_output}>/dev/null
    __genv_code=$(
        exec {__genv_channel}>&1 1>&"$__genv_output" {__genv_output}>&-
        exec "$__genv_program" --shell=bash --shell-pid="$__genv_pid" --shell-fd="$__genv_channel" "$@"
    ) || __genv_status=$?
    exec {__genv_output}>&-
    eval "$__genv_code"
    return "$__genv_status"
}

# __genv_save NAME: keeps what a variable is, unless that was done before.
__genv_save() {
    if [[ -v "__genv_state[$1]" ]]; then
        return 0
    fi
    if [[ -v $1 ]]; then
        __genv_value[$1]=${!1}
        if [[ ${!1@a} == *x* ]]; then
            __genv_state[$1]=exported
        else
            __genv_state[$1]="set"
        fi
    elif [[ $(declare -p "$1" 2>/dev/null) == "declare -"*x* ]]; then
        __genv_state[$1]=exported-unset
    else
        __genv_state[$1]="unset"
    fi
}

# __genv_restore NAME: makes a variable what it was; one that was never kept is unset.
__genv_restore() {
    case ${__genv_state[$1]-unset} in
    exported) export "$1=${__genv_value[$1]}" ;;
    exported-unset)
        unset -v "$1"
        export "${1?}"
        ;;
    set)
        printf -v "$1" %s "${__genv_value[$1]}"
        export -n "${1?}"
        ;;
    *) unset -v "$1" ;;
    esac
}

__genv_set() {
    __genv_save "$1"
    export "$1=$2"
}

__genv_unset() {
    __genv_save "$1"
    unset -v "$1"
}

# __genv_enter PROMPT SHIMS: before an activation's variables are set.
__genv_enter() {
    __genv_save PATH
    PATH=$2${PATH:+:$PATH}
    __genv_state[PATH,now]=$PATH
    if [[ -n $1 && -v PS1 ]]; then
        __genv_save PS1
        PS1=$1$PS1
        __genv_state[PS1,now]=$PS1
        __genv_state[PS1,prefix]=$1
    fi
}

# __genv_leave SHIMS: ends the activation. PATH and PS1 that somebody else has changed since lose only what was added.
__genv_leave() {
    local __genv_name
    for __genv_name in "${__genv_names[@]}"; do
        __genv_restore "$__genv_name"
    done
    if [[ -v "__genv_state[PATH,now]" && ${PATH-} == "${__genv_state[PATH,now]}" ]]; then
        __genv_restore PATH
    else
        __genv_name=:${PATH-}:
        __genv_name=${__genv_name//":$1:"/:}
        __genv_name=${__genv_name#:}
        PATH=${__genv_name%:}
    fi
    if [[ -v "__genv_state[PS1,now]" ]]; then
        if [[ ${PS1-} == "${__genv_state[PS1,now]}" ]]; then
            __genv_restore PS1
        else
            PS1=${PS1/"${__genv_state[PS1,prefix]}"/}
        fi
    fi
    __genv_state=() __genv_value=()
}
