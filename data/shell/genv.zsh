# SPDX-License-Identifier: LGPL-2.1-or-later
# genv in zsh: eval "$(genvctl shell --init)". It does the same as genv.bash, whose comments describe the common parts.
# genvctl prints it so that zsh's default options apply to it, whatever options the shell has. __genv_prompt is in
# precmd_functions while an environment is active.

: "${__genv_program:=genvctl}"

typeset -ga __genv_names
__genv_names=(GENV_SHELL GENV_ENVIRONMENT_ID GENV_ENVIRONMENT_CREATED GENV_ENVIRONMENT_NAME GENV_GPU_MEMORY GENV_GPUS GENV_PROMPT
    GENV_STATUS_FILE CUDA_VISIBLE_DEVICES CUDA_DEVICE_ORDER)

if [[ ${(t)__genv_state-} != association* || ${(t)__genv_value-} != association* ]]; then
    unset __genv_state __genv_value
    typeset -gA __genv_state __genv_value
fi

genv() {
    emulate -L zsh
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

genvctl() { genv "$@" }

__genv_without_program() {
    emulate -L zsh
    if [[ $# -eq 1 && $1 == deactivate && -n ${GENV_ENVIRONMENT_ID-} ]]; then
        __genv_leave "${__genv_state[folder]-${__genv_state[shims]-}}"
        return 0
    fi
    print -ru2 -- "genvctl: $__genv_program no longer exists"
    print -ru2 -- 'Install genv again, or clean an active shell up with "genv deactivate".'
    return 127
}

__genv_call() {
    emulate -L zsh
    local __genv_code __genv_pid=$$ __genv_began=${__genv_state[began]-}
    local __genv_name __genv_fixed
    integer __genv_status=0 __genv_output
    if [[ -o restricted ]]; then
        print -ru2 -- 'genvctl: a restricted shell cannot change its environment; "genvctl run" starts a command in one'
        return 1
    fi
    for __genv_name in $__genv_names PATH PS1 LD_AUDIT; do
        ! __genv_is_fixed $__genv_name || __genv_fixed+=${__genv_fixed:+,}$__genv_name
    done
    # In a subshell, $$ is still the PID of the main shell.
    if zmodload -F zsh/system p:sysparams 2>/dev/null; then
        __genv_pid=${sysparams[pid]:-$$}
    fi
    if [[ -e /dev/fd/1 ]]; then
        exec {__genv_output}>&1
    else
        exec {__genv_output}>/dev/null
    fi
    __genv_code=$(
        integer __genv_channel
        exec {__genv_channel}>&1 1>&$__genv_output
        exec {__genv_output}>&-
        exec "$__genv_program" --shell=zsh --shell-pid=$__genv_pid --shell-fd=$__genv_channel \
            ${__genv_began:+--shell-began=$__genv_began} ${__genv_fixed:+--shell-read-only=$__genv_fixed} "$@"
    ) || __genv_status=$?
    exec {__genv_output}>&-
    eval "$__genv_code"
    return $__genv_status
}

__genv_is_fixed() {
    emulate -L zsh
    [[ ${(Pt)1-} == *-readonly* ]]
}

__genv_save() {
    emulate -L zsh
    if (( ${+__genv_state[$1]} )); then
        return 0
    fi
    if [[ ! -v $1 ]]; then
        __genv_state[$1]=unset
        return 0
    fi
    __genv_value[$1]=${(P)1}
    if [[ ${(Pt)1} == *-export* ]]; then
        __genv_state[$1]=exported
    else
        __genv_state[$1]=set
    fi
}

__genv_restore() {
    emulate -L zsh
    if __genv_is_fixed "$1"; then
        (( ! ${+__genv_state[$1.now]} )) || __genv_print "$1 is read-only and was not restored"
        return 0
    fi
    case ${__genv_state[$1]-unset} in
    exported) typeset -gx -- "$1=${__genv_value[$1]}" ;;
    set)
        typeset -g -- "$1=${__genv_value[$1]}"
        typeset -g +x -- "$1"
        ;;
    *) unset "$1" ;;
    esac
}

__genv_set() {
    emulate -L zsh
    [[ -z ${__genv_state[shims]-} ]] || __genv_save "$1"
    __genv_state[$1.now]=$2
    __genv_put "$1" "$2"
}

__genv_unset() {
    emulate -L zsh
    [[ -z ${__genv_state[shims]-} ]] || __genv_save "$1"
    unset "__genv_state[$1.now]"
    __genv_is_fixed "$1" || unset "$1"
}

__genv_put() {
    emulate -L zsh
    __genv_is_fixed "$1" || typeset -gx -- "$1=$2"
}

__genv_enter() {
    emulate -L zsh
    __genv_state[prefix]=$1
    __genv_state[shims]=$2
    __genv_state[folder]=$2
    __genv_state[guards]=yes
    __genv_state[venv]=${VIRTUAL_ENV-}
    __genv_save PATH
    __genv_add_shims
    __genv_state[PATH.now]=$PATH
    if [[ -n $1 ]]; then
        __genv_set GENV_PROMPT "$1"
        __genv_mark_prompt
    fi
    __genv_hook
    __genv_trap
}

__genv_add_shims() {
    emulate -L zsh
    PATH=${__genv_state[folder]}${PATH:+:$PATH}
}

__genv_trap() {
    emulate -L zsh
    if [[ ! -v zshexit_functions ]]; then
        __genv_state[zshexit]=unset
    elif __genv_is_fixed zshexit_functions; then
        return 0
    fi
    typeset -ga zshexit_functions
    if (( ! ${zshexit_functions[(Ie)__genv_exit]} )); then
        zshexit_functions+=(__genv_exit)
    fi
}

__genv_untrap() {
    emulate -L zsh
    if [[ ! -v zshexit_functions ]] || __genv_is_fixed zshexit_functions; then
        return 0
    fi
    zshexit_functions=("${(@)zshexit_functions:#__genv_exit}")
    if [[ ${__genv_state[zshexit]-} == unset && ${#zshexit_functions} -eq 0 ]]; then
        unset zshexit_functions
    fi
}

__genv_exit() {
    emulate -L zsh
    local __genv_devices=${__genv_state[CUDA_VISIBLE_DEVICES.now]-${CUDA_VISIBLE_DEVICES--1}}
    if [[ -o interactive && -n ${__genv_state[shims]-} && $__genv_devices != -1 ]]; then
        command "$__genv_program" --shell=zsh --shell-pid=$$ --shell-fd=3 shell --exiting 3>/dev/null || :
    fi
}

__genv_mark_prompt() {
    emulate -L zsh
    if [[ -v PS1 ]] && ! __genv_is_fixed PS1; then
        __genv_save PS1
        PS1=${__genv_state[prefix]}$PS1
        __genv_state[PS1.now]=$PS1
    fi
}

# At the first prompt: start-up files may set the prompt after they have read this code.
__genv_inherit_prefix() {
    emulate -L zsh
    __genv_state[inherits]=""
    if [[ -n ${GENV_PROMPT-} && ${PS1-} != *"$GENV_PROMPT"* ]]; then
        __genv_state[prefix]=$GENV_PROMPT
        __genv_mark_prompt
    fi
}

__genv_watch() {
    emulate -L zsh
    __genv_state[file]=$1
    __genv_state[seen]=$2
    __genv_state[began]=${2##* }
}

__genv_know() {
    emulate -L zsh
    __genv_state[known]+=" $1 "
}

__genv_leave() {
    emulate -L zsh
    local __genv_name
    __genv_unhook
    __genv_untrap
    for __genv_name in $__genv_names; do
        __genv_restore $__genv_name
    done
    if __genv_is_fixed PATH ||
        { (( ${+__genv_state[PATH.now]} )) && [[ ${PATH-} == "${__genv_state[PATH.now]}" ]] }; then
        __genv_restore PATH
    else
        __genv_strip_path PATH "$1"
    fi
    if (( ${+__genv_state[LD_AUDIT]} )); then
        __genv_restore LD_AUDIT
    elif [[ :${LD_AUDIT-}: == *":$1/libgenv-nvml-filter.so:"* ]]; then
        __genv_strip_path LD_AUDIT "$1/libgenv-nvml-filter.so"
        [[ -n $LD_AUDIT ]] || unset LD_AUDIT
    fi
    if [[ -v _OLD_VIRTUAL_PATH ]]; then
        __genv_strip_path _OLD_VIRTUAL_PATH "$1"
    fi
    __genv_unmark_prompt
    __genv_state=()
    __genv_value=()
}

__genv_unmark_prompt() {
    emulate -L zsh
    (( ${+__genv_state[PS1.now]} )) || return 0
    if [[ ${PS1-} == "${__genv_state[PS1.now]}" ]] || __genv_is_fixed PS1; then
        __genv_restore PS1
    else
        PS1=${PS1/"${__genv_state[prefix]}"/}
    fi
    if [[ -v _OLD_VIRTUAL_PS1 ]]; then
        _OLD_VIRTUAL_PS1=${_OLD_VIRTUAL_PS1/"${__genv_state[prefix]}"/}
    fi
    unset '__genv_state[PS1.now]'
}

__genv_strip_path() {
    emulate -L zsh
    local __genv_list=:${(P)1}:
    while [[ $__genv_list == *":$2:"* ]]; do
        __genv_list=${__genv_list/":$2:"/:}
    done
    __genv_list=${__genv_list#:}
    typeset -g -- "$1=${__genv_list%:}"
}

__genv_hook() {
    emulate -L zsh
    if [[ ! -v precmd_functions ]]; then
        __genv_state[precmd]=unset
    elif __genv_is_fixed precmd_functions; then
        return 0
    fi
    typeset -ga precmd_functions
    if (( ! ${precmd_functions[(Ie)__genv_prompt]} )); then
        precmd_functions+=(__genv_prompt)
    fi
}

__genv_unhook() {
    emulate -L zsh
    if [[ ! -v precmd_functions ]] || __genv_is_fixed precmd_functions; then
        return 0
    fi
    precmd_functions=("${(@)precmd_functions:#__genv_prompt}")
    if [[ ${__genv_state[precmd]-} == unset && ${#precmd_functions} == 0 ]]; then
        unset precmd_functions
    fi
}

__genv_prompt() {
    emulate -L zsh
    if [[ -n ${__genv_state[inherits]-} ]]; then
        __genv_inherit_prefix
    fi
    if [[ -n ${__genv_state[shims]-} && ${VIRTUAL_ENV-} != "${__genv_state[venv]-}" ]]; then
        __genv_enter_again
    fi
    if [[ -n ${__genv_state[shims]-} && -n ${__genv_state[began]-} && -z ${GENV_ENVIRONMENT_CREATED-} ]] &&
        (( ! ${+__genv_state[GENV_ENVIRONMENT_CREATED.now]} )); then
        __genv_stamp
    fi
    if [[ -n ${__genv_state[file]-} ]]; then
        __genv_look
    fi
    if [[ -n ${__genv_state[guards]-} ]]; then
        __genv_guard
    fi
    return 0
}

__genv_stamp() {
    emulate -L zsh
    __genv_set GENV_ENVIRONMENT_CREATED "${__genv_state[began]}"
}

__genv_enter_again() {
    emulate -L zsh
    __genv_state[venv]=${VIRTUAL_ENV-}
    if [[ -n ${__genv_state[guards]-} && :${PATH-}: != *":${__genv_state[shims]}:"* ]] && ! __genv_is_fixed PATH; then
        __genv_add_shims
    fi
    if (( ${+__genv_state[PS1.now]} )) && [[ ${PS1-} != *"${__genv_state[prefix]}"* ]]; then
        PS1=${__genv_state[prefix]}${PS1-}
    fi
}

__genv_look() {
    emulate -L zsh
    local __genv_line __genv_say="" __genv_seen=${__genv_state[seen]%% *} __genv_file=${__genv_state[file]}
    local -a __genv_lines
    if [[ -r $__genv_file ]]; then
        while (( $#__genv_lines < 16 )) && IFS= read -r __genv_line; do
            # Each byte is a system call here, so only the first line is read if the file contains nothing new.
            if [[ $#__genv_lines -eq 0 && $__genv_line == "${__genv_state[seen]}" ]]; then
                return 0
            fi
            __genv_lines+=("$__genv_line")
        done 2>/dev/null <$__genv_file
    fi
    if [[ ${__genv_lines[1]-} != *" ${__genv_state[began]}" && ${__genv_lines[1]-} != *" 0" ]]; then
        __genv_lines=("0 0" -1)
    fi
    for __genv_line in "${(@)__genv_lines[3,-1]}"; do
        if [[ $__genv_line == <->\ * && ${__genv_state[known]-} != *" ${__genv_line%% *} "* ]] &&
            (( ${__genv_line%% *} > __genv_seen )); then
            [[ -z $__genv_say ]] || __genv_print "$__genv_say"
            __genv_say=${__genv_line#* }
        fi
    done
    __genv_state[seen]=${__genv_lines[1]}
    __genv_state[known]=""
    if [[ ${__genv_lines[1]} == *" 0" ]]; then
        if [[ -z $__genv_say ]]; then
            __genv_say="environment ${GENV_ENVIRONMENT_ID-} has ended"
            if [[ -z ${__genv_state[shims]-} && -e $__genv_file && ! -r $__genv_file ]]; then
                __genv_say+=" or belongs to another user"
            fi
        fi
        __genv_print "$__genv_say; clean this shell up with \"genv deactivate\""
        __genv_end
        return 0
    fi
    if [[ ${CUDA_VISIBLE_DEVICES-} != "${__genv_lines[2]-}" ]] && ! __genv_is_chosen "${__genv_lines[2]-}"; then
        : "${__genv_say:=CUDA_VISIBLE_DEVICES is now ${__genv_lines[2]-}}"
        __genv_put CUDA_VISIBLE_DEVICES "${__genv_lines[2]--1}"
    fi
    __genv_state[CUDA_VISIBLE_DEVICES.now]=${__genv_lines[2]--1}
    [[ -z $__genv_say ]] || __genv_print "$__genv_say"
}

__genv_end() {
    emulate -L zsh
    __genv_state[file]=""
    __genv_state[guards]=""
    __genv_state[CUDA_VISIBLE_DEVICES.now]=-1
    __genv_put CUDA_VISIBLE_DEVICES -1
    __genv_unmark_prompt
    __genv_is_fixed GENV_PROMPT || unset GENV_PROMPT
}

__genv_is_chosen() {
    emulate -L zsh
    local __genv_each __genv_rest=${CUDA_VISIBLE_DEVICES-},
    if [[ ${CUDA_VISIBLE_DEVICES-} == "${__genv_state[CUDA_VISIBLE_DEVICES.now]-${CUDA_VISIBLE_DEVICES-}}" ||
        ${(t)CUDA_VISIBLE_DEVICES-} != *-export* ]]; then
        return 1
    fi
    [[ $CUDA_VISIBLE_DEVICES != -1 ]] || return 0
    while [[ -n $__genv_rest ]]; do
        __genv_each=${__genv_rest%%,*}
        __genv_rest=${__genv_rest#*,}
        case ,$1, in
        *",${__genv_each:-,},"*) ;;
        *",$__genv_each"*) [[ $__genv_each == (GPU|MIG)-?* ]] || return 1 ;;
        *) return 1 ;;
        esac
    done
}

__genv_guard() {
    emulate -L zsh
    local __genv_name __genv_now __genv_lost __genv_fixed
    for __genv_name in $__genv_names; do
        (( ${+__genv_state[$__genv_name.now]} )) || continue
        __genv_now=${__genv_state[$__genv_name.now]}
        if [[ -v $__genv_name && ${(P)__genv_name} == "$__genv_now" && ${(Pt)__genv_name} == *-export* ]]; then
            continue
        fi
        if [[ $__genv_name == CUDA_VISIBLE_DEVICES ]] && __genv_is_chosen "$__genv_now"; then
            continue
        fi
        if __genv_is_fixed $__genv_name; then
            __genv_fixed+=" $__genv_name"
            continue
        fi
        typeset -gx -- "$__genv_name=$__genv_now"
        __genv_lost+=" $__genv_name"
        [[ $__genv_name != CUDA_VISIBLE_DEVICES ]] || __genv_lost+="=$__genv_now"
    done
    if [[ -n ${__genv_state[folder]-} && :${PATH-}: != *":${__genv_state[folder]}:"* ]]; then
        if __genv_is_fixed PATH; then
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

__genv_print() {
    emulate -L zsh
    print -ru2 -- "genv: ${1//[^[:print:]]/?}"
}

__genv_inherit() {
    emulate -L zsh
    local __genv_line="0 0" __genv_devices=-1 __genv_name
    if [[ -r $GENV_STATUS_FILE ]]; then
        { read -r __genv_line && read -r __genv_devices } <$GENV_STATUS_FILE
    fi
    __genv_watch "$GENV_STATUS_FILE" "0 ${GENV_ENVIRONMENT_CREATED:-${__genv_line##* }}"
    if [[ $__genv_line != *" 0" && $__genv_line == *" ${__genv_state[began]}" ]]; then
        __genv_state[seen]=$__genv_line
        for __genv_name in $__genv_names; do
            [[ ! -v $__genv_name ]] || __genv_state[$__genv_name.now]=${(P)__genv_name}
        done
        __genv_state[CUDA_VISIBLE_DEVICES.now]=$__genv_devices
        __genv_name=${path[(r)*/genv/shims(|-docker|-podman|-plain)]-}
        [[ -z $__genv_name ]] || __genv_state[folder]=$__genv_name
        __genv_state[guards]=yes
    fi
    __genv_state[inherits]=prefix
    __genv_hook
}

__genv_preactivate() {
    emulate -L zsh
    local -a __genv_options
    if [[ -n ${GENV_PREACTIVATE_GPUS-} ]]; then
        __genv_options+=(--gpus "$GENV_PREACTIVATE_GPUS")
    fi
    if [[ -n ${GENV_PREACTIVATE_ENVIRONMENT_NAME-} ]]; then
        __genv_options+=(--name "$GENV_PREACTIVATE_ENVIRONMENT_NAME")
    fi
    if [[ ${GENV_PREACTIVATE_PROMPT-1} == 0 ]]; then
        __genv_options+=(--no-prompt)
    fi
    unset GENV_PREACTIVATE GENV_PREACTIVATE_GPUS GENV_PREACTIVATE_ENVIRONMENT_NAME GENV_PREACTIVATE_PROMPT
    genv activate "${__genv_options[@]}" || :
}

__genv_deinit() {
    emulate -L zsh
    if [[ -n ${__genv_state[shims]-} ]]; then
        genv deactivate || __genv_leave "${__genv_state[shims]}"
    fi
    __genv_unhook
    unset __genv_program __genv_names __genv_state __genv_value
    unfunction genv genvctl
    unfunction -m '__genv_*'
}

__genv_check_aliases() {
    emulate -L zsh
    local __genv_name
    [[ -o interactive ]] || return 0
    for __genv_name in genv genvctl; do
        case ${aliases[$__genv_name]-} in
        '' | genv | genvctl | "genv "* | "genvctl "*) ;;
        *) __genv_print "the alias \"$__genv_name\" hides genv's shell function; \"unalias $__genv_name\" removes it" ;;
        esac
    done
}

__genv_check_aliases
if (( ${#__genv_state} == 0 )); then
    if [[ -n ${GENV_ENVIRONMENT_ID-} ]]; then
        if [[ -o interactive && -n ${GENV_STATUS_FILE-} ]]; then
            __genv_inherit
        fi
    elif [[ ${GENV_PREACTIVATE-} == 1 ]]; then
        __genv_preactivate
    fi
fi
