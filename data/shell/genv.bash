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
# The function sees the status of the last command and returns it. After a failed command, "&&" keeps the ERR trap from
# running again, and a shell with errexit from ending.
__genv_prompt=__genv_prompt
# shellcheck disable=SC2016  # expanded at each prompt
__genv_entry='"${__genv_prompt-:}" && :'
# The entry of code up to 2.0.0, which may be in PROMPT_COMMAND of a shell that reads this code.
__genv_earlier_entry=${__genv_entry% && :}

# The variables that an activation sets, except PATH and PS1, which are extended.
__genv_names=(GENV_SHELL GENV_ENVIRONMENT_ID GENV_ENVIRONMENT_CREATED GENV_ENVIRONMENT_NAME GENV_GPU_MEMORY GENV_GPUS GENV_PROMPT
    GENV_STATUS_FILE CUDA_VISIBLE_DEVICES CUDA_DEVICE_ORDER)

# The state of each variable before the activation, by the variable's name; the value that genv set, by NAME,now; and
# the state of the activation, by names in small letters: shims and prefix (of the prompt) from __genv_enter; file, seen
# (its first line) and began from __genv_watch; venv, the virtual environment at the last prompt; guards, whether
# __genv_guard runs; folder, which PATH must have; said, by __genv_guard at the last prompt. Both arrays must always be
# associative: bash would evaluate the value of a variable named in another array's subscript.
if [[ $(declare -p __genv_state 2>/dev/null) != "declare -A"* ]]; then
    unset -v __genv_state __genv_value
    declare -gA __genv_state=() __genv_value=()
fi

genv() {
    local __genv_word
    if [[ $__genv_program == /* && ! -x $__genv_program ]]; then
        __genv_without_program "$@" || return
        return 0
    fi
    for __genv_word in "$@"; do
        case $__genv_word in
        -*) ;;
        activate | deactivate | attach | detach | config | shell)
            __genv_call "$@" || return # runs no ERR trap of its own
            return 0
            ;;
        *) break ;;
        esac
    done
    command "$__genv_program" "$@" || return
}

genvctl() { genv "$@"; }

# After the removal of genv, a shell can still be cleaned up.
__genv_without_program() {
    if [[ $# -eq 1 && $1 == deactivate && -n ${GENV_ENVIRONMENT_ID-} ]]; then
        __genv_leave "${__genv_state[folder]-${__genv_state[shims]-}}"
        return 0
    fi
    printf 'genvctl: %s no longer exists\n%s\n' "$__genv_program" \
        'Install genv again, or clean an active shell up with "genv deactivate".' >&2
    return 127
}

# Runs a command that may change this shell. The command has the caller's input, output and messages; its status is
# returned.
__genv_call() {
    local __genv_code __genv_status=0 __genv_output __genv_pid=$BASHPID
    local __genv_name __genv_fixed=
    local -a __genv_known=()
    if [[ $- == *r* ]]; then
        printf 'genvctl: a restricted shell cannot change its environment; "genvctl run" starts a command in one\n' >&2
        return 1
    fi
    if [[ -n ${__genv_state[began]-} ]]; then
        __genv_known=(--shell-began="${__genv_state[began]}")
    fi
    for __genv_name in "${__genv_names[@]}" PATH PS1 LD_AUDIT; do
        ! __genv_has "$__genv_name" r || __genv_fixed+=${__genv_fixed:+,}$__genv_name
    done
    if [[ -n $__genv_fixed ]]; then
        __genv_known+=(--shell-read-only="$__genv_fixed")
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
        if __genv_has "$1" x; then
            __genv_state[$1]=exported
        else
            __genv_state[$1]="set"
        fi
    elif __genv_has "$1" x; then
        __genv_state[$1]=exported-unset
    else
        __genv_state[$1]="unset"
    fi
}

# __genv_has NAME LETTER: returns whether a variable has an attribute, also if it is unset. A command checks several
# variables, and a process for each would take longer than all other steps in the shell. For unset variables before
# bash 5.2 there is no other way.
__genv_has() {
    if [[ -v $1 ]]; then
        [[ ${!1@a} == *$2* ]]
    elif ((BASH_VERSINFO[0] * 100 + BASH_VERSINFO[1] >= 502)); then
        local -
        set +u
        eval "[[ \${$1@a} == *$2* ]]"
    else
        [[ $(declare -p "$1" 2>/dev/null) == "declare -"*"$2"* ]]
    fi
}

# __genv_restore NAME: restores a variable. A variable that was never stored is unset. A read-only variable stays, and
# is named if genv had set it.
__genv_restore() {
    if __genv_has "$1" r; then
        [[ ! -v "__genv_state[$1,now]" ]] || __genv_print "$1 is read-only and was not restored"
        return 0
    fi
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

# A shell that inherited its environment, such as after "exec bash", does not know the values before it.
__genv_set() {
    [[ -z ${__genv_state[shims]-} ]] || __genv_save "$1"
    __genv_state[$1,now]=$2
    __genv_put "$1" "$2"
}

__genv_unset() {
    [[ -z ${__genv_state[shims]-} ]] || __genv_save "$1"
    unset -v "__genv_state[$1,now]"
    __genv_has "$1" r || unset -v "$1"
}

# __genv_put NAME VALUE: exports a variable, unless it is read-only.
__genv_put() { __genv_has "$1" r || export "$1=$2"; }

# __genv_enter PROMPT SHIMS: runs before an activation's variables are set.
__genv_enter() {
    __genv_state[prefix]=$1
    __genv_state[shims]=$2
    __genv_state[folder]=$2
    __genv_state[guards]=yes
    __genv_state[venv]=${VIRTUAL_ENV-}
    __genv_save PATH
    __genv_add_shims
    __genv_state[PATH,now]=$PATH
    if [[ -n $1 ]]; then
        __genv_set GENV_PROMPT "$1"
        __genv_mark_prompt
    fi
    __genv_hook
    __genv_trap
}

__genv_add_shims() { PATH=${__genv_state[folder]}${PATH:+:$PATH}; }

# The text before the EXIT trap of an interactive shell; the previous trap runs after it. As in PROMPT_COMMAND, it does
# nothing in a shell without this code, and runs no ERR trap.
__genv_exit=__genv_exit
# shellcheck disable=SC2016  # expanded at the exit
__genv_exit_entry='"${__genv_exit-:}" && :; '
__genv_earlier_exit_entry=${__genv_exit_entry/ && :/}

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
    local __genv_trapped __genv_each
    [[ $- == *i* ]] || return 0
    __genv_trap_now
    for __genv_each in "$__genv_exit_entry" "$__genv_earlier_exit_entry"; do
        if [[ $__genv_trapped == "$__genv_each" ]]; then
            trap - EXIT
        elif [[ $__genv_trapped == "$__genv_each"* ]]; then
            trap -- "${__genv_trapped#"$__genv_each"}" EXIT
        fi
    done
}

# Prints which processes keep the environment's GPUs after the exit of this shell. Without GPUs no call is necessary.
__genv_exit() {
    local __genv_last=$?
    local __genv_devices=${__genv_state[CUDA_VISIBLE_DEVICES,now]-${CUDA_VISIBLE_DEVICES--1}}
    if [[ -n ${__genv_state[shims]-} && $__genv_devices != -1 ]]; then
        command "$__genv_program" --shell=bash --shell-pid="$BASHPID" --shell-fd=3 shell --exiting 3>/dev/null || :
    fi
    return "$__genv_last"
}

# Puts the prefix before the prompt.
__genv_mark_prompt() {
    if [[ -v PS1 ]] && ! __genv_has PS1 r; then
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
    if [[ -v "__genv_state[PATH,now]" && ${PATH-} == "${__genv_state[PATH,now]}" ]] || __genv_has PATH r; then
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
    __genv_unmark_prompt
    __genv_state=() __genv_value=()
}

# Removes the prefix from the prompt, and from the prompt that an active virtual environment will restore.
__genv_unmark_prompt() {
    [[ -v "__genv_state[PS1,now]" ]] || return 0
    if [[ ${PS1-} == "${__genv_state[PS1,now]}" ]] || __genv_has PS1 r; then
        __genv_restore PS1
    else
        PS1=${PS1/"${__genv_state[prefix]}"/}
    fi
    if [[ -v _OLD_VIRTUAL_PS1 ]]; then
        _OLD_VIRTUAL_PS1=${_OLD_VIRTUAL_PS1/"${__genv_state[prefix]}"/}
    fi
    unset -v "__genv_state[PS1,now]"
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
    if [[ $__genv_kind == fixed || " ${PROMPT_COMMAND[*]-} " == *"$__genv_earlier_entry"* ]]; then
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
            case ${PROMPT_COMMAND[__genv_index]} in
            "$__genv_entry" | "$__genv_earlier_entry") unset -v "PROMPT_COMMAND[$__genv_index]" ;;
            *)
                __genv_text=${PROMPT_COMMAND[__genv_index]}
                __genv_strip_entry
                PROMPT_COMMAND[__genv_index]=$__genv_text
                ;;
            esac
        done
        ;;
    string)
        if [[ -v "__genv_state[PROMPT_COMMAND,now]" &&
            $PROMPT_COMMAND == "${__genv_state[PROMPT_COMMAND,now]}" ]]; then
            __genv_restore PROMPT_COMMAND
        else
            __genv_text=$PROMPT_COMMAND
            __genv_strip_entry
            PROMPT_COMMAND=$__genv_text
        fi
        ;;
    esac
}

# Removes the entry from __genv_text.
__genv_strip_entry() {
    local __genv_each
    for __genv_each in "$__genv_entry" "$__genv_earlier_entry"; do
        __genv_text=${__genv_text//$'\n'"$__genv_each"/}
        __genv_text=${__genv_text//"$__genv_each"/:}
    done
}

# Runs at each prompt and keeps the last status.
__genv_prompt() {
    local __genv_last=$?
    if [[ -n ${__genv_state[inherits]-} ]]; then
        __genv_inherit_prefix
    fi
    if [[ -n ${__genv_state[shims]-} && ${VIRTUAL_ENV-} != "${__genv_state[venv]-}" ]]; then
        __genv_enter_again
    fi
    if [[ -n ${__genv_state[shims]-} && -n ${__genv_state[began]-} && -z ${GENV_ENVIRONMENT_CREATED-} &&
        ! -v "__genv_state[GENV_ENVIRONMENT_CREATED,now]" ]]; then
        __genv_stamp
    fi
    if [[ -n ${__genv_state[file]-} && $- != *r* ]]; then
        __genv_look
    fi
    if [[ -n ${__genv_state[guards]-} && $- != *r* ]]; then
        __genv_guard
    fi
    return "$__genv_last"
}

# A shell that activated its environment with a version before the stamp knows the stamp from its own activation. A
# shell that only inherited the id does not: the status file may describe another environment by now.
__genv_stamp() { __genv_set GENV_ENVIRONMENT_CREATED "${__genv_state[began]}"; }

# Activates again after a virtual environment that is older than this activation was deactivated, which restored PATH
# and PS1 to their state before both.
__genv_enter_again() {
    __genv_state[venv]=${VIRTUAL_ENV-}
    if [[ -n ${__genv_state[guards]-} && :${PATH-}: != *":${__genv_state[shims]}:"* ]] && ! __genv_has PATH r; then
        __genv_add_shims
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
    __genv_state[seen]=${__genv_lines[0]} __genv_state[known]=
    if [[ ${__genv_lines[0]} == *" 0" ]]; then
        if [[ -z $__genv_say ]]; then
            __genv_say="environment ${GENV_ENVIRONMENT_ID-} has ended"
            # As in a shell that sudo started with the variables of another user.
            if [[ -z ${__genv_state[shims]-} && -e ${__genv_state[file]} && ! -r ${__genv_state[file]} ]]; then
                __genv_say+=" or belongs to another user"
            fi
        fi
        __genv_print "$__genv_say; clean this shell up with \"genv deactivate\""
        __genv_end
        return 0
    fi
    if [[ ${CUDA_VISIBLE_DEVICES-} != "${__genv_lines[1]-}" ]] && ! __genv_is_chosen "${__genv_lines[1]-}"; then
        : "${__genv_say:=CUDA_VISIBLE_DEVICES is now ${__genv_lines[1]-}}"
        __genv_put CUDA_VISIBLE_DEVICES "${__genv_lines[1]--1}"
    fi
    __genv_state[CUDA_VISIBLE_DEVICES,now]=${__genv_lines[1]--1}
    [[ -z $__genv_say ]] || __genv_print "$__genv_say"
}

# The environment has ended: hides the GPUs from programs, and removes the prefix from the prompt.
__genv_end() {
    __genv_state[file]="" __genv_state[guards]=""
    __genv_state[CUDA_VISIBLE_DEVICES,now]=-1
    __genv_put CUDA_VISIBLE_DEVICES -1
    __genv_unmark_prompt
    __genv_has GENV_PROMPT r || unset -v GENV_PROMPT
}

# __genv_is_chosen DEVICES: returns whether the user has chosen some of these devices, or none ("-1"), in
# CUDA_VISIBLE_DEVICES. CUDA accepts the first characters of a UUID. Devices that genv has set itself are not chosen.
__genv_is_chosen() {
    local __genv_each __genv_rest=${CUDA_VISIBLE_DEVICES-},
    if [[ ${CUDA_VISIBLE_DEVICES-} == "${__genv_state[CUDA_VISIBLE_DEVICES,now]-${CUDA_VISIBLE_DEVICES-}}" ]] ||
        ! __genv_has CUDA_VISIBLE_DEVICES x; then
        return 1
    fi
    [[ $CUDA_VISIBLE_DEVICES != -1 ]] || return 0
    while [[ -n $__genv_rest ]]; do
        __genv_each=${__genv_rest%%,*} __genv_rest=${__genv_rest#*,}
        case ,$1, in
        *",${__genv_each:-,},"*) ;;
        *",$__genv_each"*) [[ $__genv_each == [GM][PI][UG]-?* ]] || return 1 ;;
        *) return 1 ;;
        esac
    done
}

# Restores the environment's variables that other software, such as direnv, or the user has changed or unset. What is
# wrong again at the next prompt is restored without a sentence.
__genv_guard() {
    local __genv_name __genv_lost="" __genv_fixed=""
    for __genv_name in "${__genv_names[@]}"; do
        if [[ ! -v "__genv_state[$__genv_name,now]" || -v $__genv_name &&
            ${!__genv_name} == "${__genv_state[$__genv_name,now]}" && ${!__genv_name@a} == *x* ]]; then
            continue
        fi
        if [[ $__genv_name == CUDA_VISIBLE_DEVICES ]] && __genv_is_chosen "${__genv_state[$__genv_name,now]}"; then
            continue
        fi
        if __genv_has "$__genv_name" r; then
            __genv_fixed+=" $__genv_name"
            continue
        fi
        export "$__genv_name=${__genv_state[$__genv_name,now]}"
        __genv_lost+=" $__genv_name"
        [[ $__genv_name != CUDA_VISIBLE_DEVICES ]] || __genv_lost+="=$CUDA_VISIBLE_DEVICES"
    done
    if [[ -n ${__genv_state[folder]-} && :${PATH-}: != *":${__genv_state[folder]}:"* ]]; then
        if __genv_has PATH r; then
            __genv_fixed+=" PATH"
        else
            __genv_add_shims
            __genv_lost+=" PATH"
        fi
    fi
    if [[ $__genv_lost$__genv_fixed != "${__genv_state[said]-}" ]]; then
        [[ -z $__genv_lost ]] || __genv_print "restored variables that were changed or unset:$__genv_lost"
        [[ -z $__genv_fixed ]] || __genv_print "cannot restore variables that are read-only:$__genv_fixed"
        __genv_state[said]=$__genv_lost$__genv_fixed
    fi
}

__genv_print() { printf 'genv: %s\n' "${1//[^[:print:]]/?}" >&2 || :; }

# A shell inside an activated one is not registered itself, but its prompt is updated as well.
__genv_inherit() {
    local __genv_line="0 0" __genv_devices=-1 __genv_name
    { read -r __genv_line && read -r __genv_devices; } 2>/dev/null <"$GENV_STATUS_FILE" || __genv_line="0 0"
    __genv_watch "$GENV_STATUS_FILE" "0 ${GENV_ENVIRONMENT_CREATED:-${__genv_line##* }}"
    # Events before the start of this shell are not printed, except the end. The environment has also ended if the stamp
    # belongs to another one.
    if [[ $__genv_line != *" 0" && $__genv_line == *" ${__genv_state[began]}" ]]; then
        __genv_state[seen]=$__genv_line
        for __genv_name in "${__genv_names[@]}"; do
            [[ ! -v $__genv_name ]] || __genv_state[$__genv_name,now]=${!__genv_name}
        done
        __genv_state[CUDA_VISIBLE_DEVICES,now]=$__genv_devices
        if [[ :${PATH-}: =~ :([^:]*/genv/shims(-[a-z]+)?): ]]; then
            __genv_state[folder]=${BASH_REMATCH[1]}
        fi
        __genv_state[guards]=yes
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
    unset -v __genv_program __genv_prompt __genv_entry __genv_earlier_entry __genv_exit \
        __genv_exit_entry __genv_earlier_exit_entry __genv_names __genv_state __genv_value
}

# An alias of the user comes before a function. One that calls genv or genvctl with options works.
__genv_check_aliases() {
    local __genv_name
    [[ $- == *i* ]] || return 0
    for __genv_name in genv genvctl; do
        case ${BASH_ALIASES[$__genv_name]-} in
        '' | genv | genvctl | "genv "* | "genvctl "*) ;;
        *) __genv_print "the alias \"$__genv_name\" hides genv's shell function; \"unalias $__genv_name\" removes it" ;;
        esac
    done
}

__genv_check_aliases
if [[ ${#__genv_state[@]} -eq 0 ]]; then
    if [[ -n ${GENV_ENVIRONMENT_ID-} ]]; then
        if [[ $- == *i* && -n ${GENV_STATUS_FILE-} ]]; then
            __genv_inherit
        fi
    elif [[ ${GENV_PREACTIVATE-} == 1 ]]; then
        __genv_preactivate
    fi
fi
