# shellcheck shell=bash
# SPDX-License-Identifier: LGPL-2.1-or-later
# genv in bash: eval "$(genvctl shell --init)". A program cannot change the shell that runs it. The function genv
# therefore runs genvctl and evaluates the lines that genvctl sends on a separate descriptor: calls of the functions
# below with quoted words. All names here start with __genv, except genv and genvctl themselves.
#
# While an environment is active, __genv_prompt is in PROMPT_COMMAND and reads the environment's status file, with
# builtins only. Other entries of PROMPT_COMMAND are not touched.
#
# The path of the genvctl that printed this code. genvctl sets it on the line before.
: "${__genv_program:=genvctl}"

# The entry in PROMPT_COMMAND. A shell that inherits the entry without this code lacks the variable and does nothing.
# The function sees the status of the last command.
__genv_prompt=__genv_prompt
# shellcheck disable=SC2016  # expanded at each prompt
__genv_entry='"${__genv_prompt-:}"'

# The variables that an activation sets, except PATH and PS1, which are extended.
__genv_names=(GENV_SHELL GENV_ENVIRONMENT_ID GENV_ENVIRONMENT_CREATED GENV_ENVIRONMENT_NAME GENV_GPU_MEMORY GENV_GPUS GENV_PROMPT
    GENV_STATUS_FILE CUDA_VISIBLE_DEVICES CUDA_DEVICE_ORDER)

# The state of each variable before the activation, by the variable's name, and the state of the activation, by names in
# small letters: shims and prefix (of the prompt) from __genv_enter; file, seen (its first line) and began from
# __genv_watch; venv, the virtual environment at the last prompt. Both arrays must always be associative: bash would
# evaluate the value of a variable named in another array's subscript.
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

# Runs a command that may change this shell. The command has the caller's input, output and messages; its status is
# returned.
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

# __genv_save NAME: stores the state of a variable, unless it was stored before.
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

# __genv_is_exported NAME: returns whether an unset variable has the export attribute. An activation checks several
# variables, and a process for each would take longer than all other steps in the shell. Before bash 5.2 there is no
# other way.
__genv_is_exported() {
    local -
    set +u
    if ((BASH_VERSINFO[0] * 100 + BASH_VERSINFO[1] >= 502)); then
        eval "[[ \${$1@a} == *x* ]]"
    else
        [[ $(declare -p "$1" 2>/dev/null) == "declare -"*x* ]]
    fi
}

# __genv_restore NAME: restores a variable. A variable that was never stored is unset.
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

# __genv_enter PROMPT SHIMS: runs before an activation's variables are set.
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

# The text before the EXIT trap of an interactive shell; the previous trap runs after it. As in PROMPT_COMMAND, it does
# nothing in a shell without this code.
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

# Prints which processes keep the environment's GPUs after the exit of this shell. Without GPUs no call is necessary.
__genv_exit() {
    local __genv_last=$?
    if [[ -n ${__genv_state[shims]-} && ${CUDA_VISIBLE_DEVICES--1} != -1 ]]; then
        command "$__genv_program" --shell=bash --shell-pid="$BASHPID" --shell-fd=3 shell --exiting 3>/dev/null || :
    fi
    return "$__genv_last"
}

# Puts the prefix before the prompt.
__genv_mark_prompt() {
    if [[ -v PS1 ]]; then
        __genv_save PS1
        PS1=${__genv_state[prefix]}$PS1
        __genv_state[PS1,now]=$PS1
    fi
}

# Marks the prompt of a shell inside an activated one, such as a window of tmux. It runs at the first prompt: start-up
# files may set the prompt after they have read this code.
__genv_inherit_prefix() {
    __genv_state[inherits]=""
    if [[ -n ${GENV_PROMPT-} && ${PS1-} != *"$GENV_PROMPT"* ]]; then
        __genv_state[prefix]=$GENV_PROMPT
        __genv_mark_prompt
    fi
}

# __genv_watch FILE LINE: sets the status file, and its first line if its contents are known already.
__genv_watch() {
    __genv_state[file]=$1
    __genv_state[seen]=$2
    __genv_state[began]=${2##* }
}

# __genv_know NUMBER: suppresses the sentence with this number, because the command itself has printed the same.
__genv_know() { __genv_state[known]+=" $1 "; }

# __genv_leave SHIMS: ends the activation. If PATH and PS1 were changed since, only the added parts are removed.
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
    # LD_AUDIT is set only by an activation with the NVML filter. A shell inside an activated one inherits it.
    if [[ -v "__genv_state[LD_AUDIT]" ]]; then
        __genv_restore LD_AUDIT
    elif [[ :${LD_AUDIT-}: == *":$1/libgenv-nvml-filter.so:"* ]]; then
        __genv_strip_path LD_AUDIT "$1/libgenv-nvml-filter.so"
        [[ -n $LD_AUDIT ]] || unset -v LD_AUDIT
    fi
    # The values that an active virtual environment will restore when it is deactivated.
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

# __genv_strip_path NAME FOLDER: removes a folder from a list like PATH.
__genv_strip_path() {
    local __genv_list=:${!1-}:
    while [[ $__genv_list == *":$2:"* ]]; do
        __genv_list=${__genv_list/":$2:"/:}
    done
    __genv_list=${__genv_list#:}
    printf -v "$1" %s "${__genv_list%:}"
}

# Prints the kind of PROMPT_COMMAND: array, string, unset, or fixed if it is read-only.
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
        # Before bash 5.1 only the first element runs.
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

# Runs at each prompt and keeps the last status, except under errexit, where a failing status would end the shell.
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

# A shell that activated its environment with a version before the stamp knows the stamp from its own activation. A
# shell that only inherited the id does not: the status file may describe another environment by now.
__genv_stamp() { __genv_set GENV_ENVIRONMENT_CREATED "${__genv_state[began]}"; }

# Activates again after a virtual environment that is older than this activation was deactivated, which restored PATH
# and PS1 to their state before both.
__genv_enter_again() {
    __genv_state[venv]=${VIRTUAL_ENV-}
    if [[ :${PATH-}: != *":${__genv_state[shims]}:"* ]]; then
        PATH=${__genv_state[shims]}${PATH:+:$PATH}
    fi
    if [[ -v "__genv_state[PS1,now]" && ${PS1-} != *"${__genv_state[prefix]}"* ]]; then
        PS1=${__genv_state[prefix]}${PS1-}
    fi
}

# Prints new sentences of the status file and sets the devices from it.
__genv_look() {
    local IFS=$' \t\n' __genv_line __genv_say="" __genv_seen=${__genv_state[seen]%% *}
    local -a __genv_lines=()
    mapfile -t -n 16 __genv_lines 2>/dev/null <"${__genv_state[file]}" || __genv_lines=()
    if [[ ${__genv_lines[0]-} == "${__genv_state[seen]}" ]]; then
        return 0
    fi
    # The file is gone, or belongs to another environment by now.
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

# A shell inside an activated one is not registered itself, but its prompt is updated as well.
__genv_inherit() {
    local __genv_line="0 0"
    { read -r __genv_line <"$GENV_STATUS_FILE"; } 2>/dev/null || __genv_line="0 0"
    __genv_watch "$GENV_STATUS_FILE" "0 ${GENV_ENVIRONMENT_CREATED:-${__genv_line##* }}"
    # Events before the start of this shell are not printed, except the end. The environment has also ended if the stamp
    # belongs to another one.
    if [[ $__genv_line != *" 0" && $__genv_line == *" ${__genv_state[began]}" ]]; then
        __genv_state[seen]=$__genv_line
    fi
    __genv_state[inherits]=prefix
    __genv_hook
}

# Makes the activation that a remote activation over SSH requests, once.
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

# Leaves the environment that this shell activated, and removes all code and variables.
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
