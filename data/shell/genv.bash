# shellcheck shell=bash
# SPDX-License-Identifier: LGPL-2.1-or-later
# genv in bash: eval "$(genvctl shell --init)". A program cannot change the shell that runs it, so the function genv runs
# genvctl and then evaluates the lines that genvctl sends on a descriptor of their own: calls of the functions below with
# quoted words. Everything here starts with __genv but for genv and genvctl themselves.
#
# While an environment is active, __genv_prompt is in PROMPT_COMMAND and reads the environment's status file, with builtins
# only. Nobody else's part of PROMPT_COMMAND is touched.
#
# The genvctl that printed this; it sets this on the line before.
: "${__genv_program:=genvctl}"

# What stands in PROMPT_COMMAND. A shell that inherits that without this code has no such variable and does nothing; the
# function sees the last status.
__genv_prompt=__genv_prompt
# shellcheck disable=SC2016  # expanded at each prompt
__genv_entry='"${__genv_prompt-:}"'

# What an activation sets, but for PATH and PS1, which are extended.
__genv_names=(GENV_SHELL GENV_ENVIRONMENT_ID GENV_ENVIRONMENT_CREATED GENV_ENVIRONMENT_NAME GENV_GPU_MEMORY GENV_GPUS GENV_PROMPT
    GENV_STATUS_FILE CUDA_VISIBLE_DEVICES CUDA_DEVICE_ORDER)

# What a variable was before the activation, by its name, and what else is known of the activation, in small letters:
# shims and prefix (of the prompt) as __genv_enter got them; file, seen (its first line) and began as __genv_watch did; venv,
# the virtual environment at the last prompt. They must be associative at any time: bash would evaluate the
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
        activate | deactivate | attach | detach | config | shell)
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
    local -a __genv_known=()
    if [[ -n ${__genv_state[began]-} ]]; then
        __genv_known=(--shell-began="${__genv_state[began]}")
    fi
    { exec {__genv_output}>&1; } 2>/dev/null || exec {__genv_output}>/dev/null
    __genv_code=$(
        exec {__genv_channel}>&1 1>&"$__genv_output" {__genv_output}>&-
        exec "$__genv_program" --shell=bash --shell-pid="$__genv_pid" --shell-fd="$__genv_channel" \
            "${__genv_known[@]}" "$@"
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
    elif __genv_is_exported "$1"; then
        __genv_state[$1]=exported-unset
    else
        __genv_state[$1]="unset"
    fi
}

# __genv_is_exported NAME: whether a variable that is unset would be exported. An activation asks for several, and a process
# for each would take longer than everything else that the shell does for it; before bash 5.2 nothing else tells.
__genv_is_exported() {
    local -
    set +u
    if ((BASH_VERSINFO[0] * 100 + BASH_VERSINFO[1] >= 502)); then
        eval "[[ \${$1@a} == *x* ]]"
    else
        [[ $(declare -p "$1" 2>/dev/null) == "declare -"*x* ]]
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
    __genv_state[prefix]=$1
    __genv_state[shims]=$2
    __genv_state[venv]=${VIRTUAL_ENV-}
    __genv_save PATH
    PATH=$2${PATH:+:$PATH}
    __genv_state[PATH,now]=$PATH
    if [[ -n $1 ]]; then
        __genv_set GENV_PROMPT "$1"
        __genv_mark_prompt
    fi
    __genv_hook
    __genv_trap
}

# What stands before the EXIT trap of an interactive shell: what was there runs after it. As in PROMPT_COMMAND, a shell
# without this code does nothing.
__genv_exit=__genv_exit
# shellcheck disable=SC2016  # expanded at the exit
__genv_exit_entry='"${__genv_exit-:}"; '

__genv_trap_now() {
    local -a __genv_words=()
    eval "__genv_words=($(trap -p EXIT))"
    __genv_trapped=${__genv_words[2]-}
}

__genv_trap() {
    local __genv_trapped
    [[ $- == *i* ]] || return 0
    __genv_trap_now
    [[ $__genv_trapped == "$__genv_exit_entry"* ]] || trap -- "$__genv_exit_entry$__genv_trapped" EXIT
}

__genv_untrap() {
    local __genv_trapped
    [[ $- == *i* ]] || return 0
    __genv_trap_now
    if [[ $__genv_trapped == "$__genv_exit_entry" ]]; then
        trap - EXIT
    elif [[ $__genv_trapped == "$__genv_exit_entry"* ]]; then
        trap -- "${__genv_trapped#"$__genv_exit_entry"}" EXIT
    fi
}

# Says what keeps the environment's GPUs when this shell is gone. Without GPUs there is nothing to ask.
__genv_exit() {
    local __genv_last=$?
    if [[ -n ${__genv_state[shims]-} && ${CUDA_VISIBLE_DEVICES--1} != -1 ]]; then
        command "$__genv_program" --shell=bash --shell-pid="$BASHPID" --shell-fd=3 shell --exiting 3>/dev/null || :
    fi
    return "$__genv_last"
}

# Puts the prefix in front of the prompt.
__genv_mark_prompt() {
    if [[ -v PS1 ]]; then
        __genv_save PS1
        PS1=${__genv_state[prefix]}$PS1
        __genv_state[PS1,now]=$PS1
    fi
}

# A shell within one that is activated, such as a window of tmux. It does this at its first prompt: its start files may set
# the prompt after they have read this code.
__genv_inherit_prefix() {
    __genv_state[inherits]=""
    if [[ -n ${GENV_PROMPT-} && ${PS1-} != *"$GENV_PROMPT"* ]]; then
        __genv_state[prefix]=$GENV_PROMPT
        __genv_mark_prompt
    fi
}

# __genv_watch FILE LINE: the status file, and its first line when what it says was known already.
__genv_watch() {
    __genv_state[file]=$1
    __genv_state[seen]=$2
    __genv_state[began]=${2##* }
}

# __genv_know NUMBER: the sentence of this number is no news; the command that asked was told the same.
__genv_know() { __genv_state[known]+=" $1 "; }

# __genv_leave SHIMS: ends the activation. PATH and PS1 that somebody else has changed since lose only what was added.
__genv_leave() {
    local __genv_name
    __genv_unhook
    __genv_untrap
    for __genv_name in "${__genv_names[@]}"; do
        __genv_restore "$__genv_name"
    done
    if [[ -v "__genv_state[PATH,now]" && ${PATH-} == "${__genv_state[PATH,now]}" ]]; then
        __genv_restore PATH
    else
        __genv_strip_path PATH "$1"
    fi
    # Only an activation that was asked for the NVML filter has set this; a shell within one inherits it.
    if [[ -v "__genv_state[LD_AUDIT]" ]]; then
        __genv_restore LD_AUDIT
    elif [[ :${LD_AUDIT-}: == *":$1/libgenv-nvml-filter.so:"* ]]; then
        __genv_strip_path LD_AUDIT "$1/libgenv-nvml-filter.so"
        [[ -n $LD_AUDIT ]] || unset -v LD_AUDIT
    fi
    # What a virtual environment that is still active puts back when it goes.
    if [[ -v _OLD_VIRTUAL_PATH ]]; then
        __genv_strip_path _OLD_VIRTUAL_PATH "$1"
    fi
    if [[ -v "__genv_state[PS1,now]" ]]; then
        if [[ ${PS1-} == "${__genv_state[PS1,now]}" ]]; then
            __genv_restore PS1
        else
            PS1=${PS1/"${__genv_state[prefix]}"/}
        fi
        if [[ -v _OLD_VIRTUAL_PS1 ]]; then
            _OLD_VIRTUAL_PS1=${_OLD_VIRTUAL_PS1/"${__genv_state[prefix]}"/}
        fi
    fi
    __genv_state=() __genv_value=()
}

# __genv_strip_path NAME FOLDER: takes a folder out of a list like PATH.
__genv_strip_path() {
    local __genv_list=:${!1-}:
    while [[ $__genv_list == *":$2:"* ]]; do
        __genv_list=${__genv_list/":$2:"/:}
    done
    __genv_list=${__genv_list#:}
    printf -v "$1" %s "${__genv_list%:}"
}

# What PROMPT_COMMAND is: array, string, unset, or fixed where it is read-only.
__genv_hook_kind() {
    local __genv_text
    __genv_text=$(declare -p PROMPT_COMMAND 2>/dev/null) || __genv_text=
    __genv_text=${__genv_text#declare }
    case ${__genv_text%% *} in
    '') __genv_kind="unset" ;;
    *r*) __genv_kind=fixed ;;
    *[aA]*) __genv_kind=array ;;
    *) __genv_kind=string ;;
    esac
}

# shellcheck disable=SC2128,SC2178  # a string where it is used as one
__genv_hook() {
    local __genv_kind
    __genv_hook_kind
    if [[ $__genv_kind == fixed || " ${PROMPT_COMMAND[*]-} " == *"$__genv_entry"* ]]; then
        return 0
    fi
    if [[ $__genv_kind == array ]]; then
        # Before bash 5.1 only the first element is run.
        if ((BASH_VERSINFO[0] * 100 + BASH_VERSINFO[1] >= 501)); then
            PROMPT_COMMAND+=("$__genv_entry")
        else
            PROMPT_COMMAND[0]=${PROMPT_COMMAND[0]:+${PROMPT_COMMAND[0]}$'\n'}$__genv_entry
        fi
        return 0
    fi
    __genv_save PROMPT_COMMAND
    PROMPT_COMMAND=${PROMPT_COMMAND:+$PROMPT_COMMAND$'\n'}$__genv_entry
    __genv_state[PROMPT_COMMAND,now]=$PROMPT_COMMAND
}

# shellcheck disable=SC2128,SC2178  # a string where it is used as one
__genv_unhook() {
    local __genv_kind __genv_index __genv_text
    __genv_hook_kind
    case $__genv_kind in
    array)
        for __genv_index in "${!PROMPT_COMMAND[@]}"; do
            if [[ ${PROMPT_COMMAND[__genv_index]} == "$__genv_entry" ]]; then
                unset -v "PROMPT_COMMAND[$__genv_index]"
            else
                __genv_text=${PROMPT_COMMAND[__genv_index]//$'\n'"$__genv_entry"/}
                PROMPT_COMMAND[__genv_index]=${__genv_text//"$__genv_entry"/:}
            fi
        done
        ;;
    string)
        if [[ -v "__genv_state[PROMPT_COMMAND,now]" &&
            $PROMPT_COMMAND == "${__genv_state[PROMPT_COMMAND,now]}" ]]; then
            __genv_restore PROMPT_COMMAND
        else
            PROMPT_COMMAND=${PROMPT_COMMAND//$'\n'"$__genv_entry"/}
            PROMPT_COMMAND=${PROMPT_COMMAND//"$__genv_entry"/:}
        fi
        ;;
    esac
}

# Runs at each prompt and leaves the last status as it is, but under errexit, where that would end the shell.
__genv_prompt() {
    local __genv_last=$?
    if [[ -n ${__genv_state[inherits]-} ]]; then
        __genv_inherit_prefix
    fi
    if [[ -n ${__genv_state[shims]-} && ${VIRTUAL_ENV-} != "${__genv_state[venv]-}" ]]; then
        __genv_enter_again
    fi
    if [[ -n ${__genv_state[shims]-} && -n ${__genv_state[began]-} && -z ${GENV_ENVIRONMENT_CREATED-} ]]; then
        __genv_stamp
    fi
    if [[ -n ${__genv_state[file]-} ]]; then
        __genv_look
    fi
    [[ $- == *e* ]] || return "$__genv_last"
}

# A shell that activated its environment before there was a stamp knows it all the same, from its own activation. One that
# only inherited the id does not: what the status file says may be another environment's by now.
__genv_stamp() { __genv_set GENV_ENVIRONMENT_CREATED "${__genv_state[began]}"; }

# A virtual environment that came before this activation puts PATH and PS1 back as they were before both.
__genv_enter_again() {
    __genv_state[venv]=${VIRTUAL_ENV-}
    if [[ :${PATH-}: != *":${__genv_state[shims]}:"* ]]; then
        PATH=${__genv_state[shims]}${PATH:+:$PATH}
    fi
    if [[ -v "__genv_state[PS1,now]" && ${PS1-} != *"${__genv_state[prefix]}"* ]]; then
        PS1=${__genv_state[prefix]}${PS1-}
    fi
}

# Tells what is new in the status file and takes the devices from it.
__genv_look() {
    local IFS=$' \t\n' __genv_line __genv_say="" __genv_seen=${__genv_state[seen]%% *}
    local -a __genv_lines=()
    mapfile -t -n 16 __genv_lines 2>/dev/null <"${__genv_state[file]}" || __genv_lines=()
    if [[ ${__genv_lines[0]-} == "${__genv_state[seen]}" ]]; then
        return 0
    fi
    # Gone, or another environment's by now.
    if [[ ${__genv_lines[0]-} != *" ${__genv_state[began]}" && ${__genv_lines[0]-} != *" 0" ]]; then
        __genv_lines=("0 0" -1)
    fi
    for __genv_line in "${__genv_lines[@]:2}"; do
        if [[ $__genv_line =~ ^[0-9]+" " && ${__genv_line%% *} -gt $__genv_seen &&
            ${__genv_state[known]-} != *" ${__genv_line%% *} "* ]]; then
            [[ -z $__genv_say ]] || __genv_print "$__genv_say"
            __genv_say=${__genv_line#* }
        fi
    done
    if [[ ${__genv_lines[0]} == *" 0" ]]; then
        __genv_say="${__genv_say:-environment ${GENV_ENVIRONMENT_ID-} has ended}; clean this shell up with \"genv deactivate\""
        __genv_state[file]=""
    elif [[ -z $__genv_say && ${CUDA_VISIBLE_DEVICES-} != "${__genv_lines[1]-}" ]]; then
        __genv_say="CUDA_VISIBLE_DEVICES is now ${__genv_lines[1]-}"
    fi
    [[ -z $__genv_say ]] || __genv_print "$__genv_say"
    __genv_state[seen]=${__genv_lines[0]} __genv_state[known]=
    export CUDA_VISIBLE_DEVICES="${__genv_lines[1]--1}"
}

__genv_print() { printf 'genv: %s\n' "${1//[^[:print:]]/?}" >&2 || :; }

# A shell within an activated one: not registered itself, but its prompt tells the truth, too.
__genv_inherit() {
    local __genv_line="0 0"
    { read -r __genv_line <"$GENV_STATUS_FILE"; } 2>/dev/null || __genv_line="0 0"
    __genv_watch "$GENV_STATUS_FILE" "0 ${GENV_ENVIRONMENT_CREATED:-${__genv_line##* }}"
    # What happened before this shell was there is no news, but for the end. It also has ended where the stamp is another's.
    if [[ $__genv_line != *" 0" && $__genv_line == *" ${__genv_state[began]}" ]]; then
        __genv_state[seen]=$__genv_line
    fi
    __genv_state[inherits]=prefix
    __genv_hook
}

# What a remote activation over SSH asks for, once.
__genv_preactivate() {
    local -a __genv_options=()
    if [[ -n ${GENV_PREACTIVATE_GPUS-} ]]; then
        __genv_options+=(--gpus "$GENV_PREACTIVATE_GPUS")
    fi
    if [[ -n ${GENV_PREACTIVATE_ENVIRONMENT_NAME-} ]]; then
        __genv_options+=(--name "$GENV_PREACTIVATE_ENVIRONMENT_NAME")
    fi
    if [[ ${GENV_PREACTIVATE_PROMPT-1} == 0 ]]; then
        __genv_options+=(--no-prompt)
    fi
    unset -v GENV_PREACTIVATE GENV_PREACTIVATE_GPUS GENV_PREACTIVATE_ENVIRONMENT_NAME GENV_PREACTIVATE_PROMPT
    genv activate "${__genv_options[@]}" || :
}

# Leaves the environment that this shell activated, and removes everything.
__genv_deinit() {
    local __genv_name
    if [[ -n ${__genv_state[shims]-} ]]; then
        genv deactivate || __genv_leave "${__genv_state[shims]}"
    fi
    __genv_unhook
    while read -r __genv_name; do
        unset -f "$__genv_name"
    done < <(compgen -A function __genv_)
    unset -f genv genvctl
    unset -v __genv_program __genv_prompt __genv_entry __genv_exit __genv_exit_entry __genv_names __genv_state __genv_value
}

if [[ ${#__genv_state[@]} -eq 0 ]]; then
    if [[ -n ${GENV_ENVIRONMENT_ID-} ]]; then
        if [[ $- == *i* && -n ${GENV_STATUS_FILE-} ]]; then
            __genv_inherit
        fi
    elif [[ ${GENV_PREACTIVATE-} == 1 ]]; then
        __genv_preactivate
    fi
fi
