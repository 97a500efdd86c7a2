# shellcheck shell=sh
# SPDX-License-Identifier: LGPL-2.1-or-later
# Restores a shell that genv 1 has set up: it leaves genv 1's environment and removes its functions. GENV_ENVS names the
# variables that genv 1 has set, separated by colons, once for each time. GENV_BACKUP_ENVS names the variables that had
# a value before; the value is in GENV_BACKUP_ENV_NAME. While PATH is unset, only builtins are used.
__genv1_set=${GENV_ENVS-}: __genv1_saved=${GENV_BACKUP_ENVS-}: __genv1_visible="" __genv1_value=""
# If CUDA_VISIBLE_DEVICES was set twice, its backup is a value of genv 1.
case :$__genv1_set in
*:CUDA_VISIBLE_DEVICES:CUDA_VISIBLE_DEVICES:* | *:CUDA_VISIBLE_DEVICES:*:CUDA_VISIBLE_DEVICES:*) __genv1_visible=genv1 ;;
esac
while [ -n "$__genv1_set" ]; do
    __genv1_name=${__genv1_set%%:*} __genv1_set=${__genv1_set#*:}
    case $__genv1_name in
    '' | [0-9]* | *[!A-Za-z0-9_]*) ;;
    *) unset -v "$__genv1_name" ;;
    esac
done
while [ -n "$__genv1_saved" ]; do
    __genv1_name=${__genv1_saved%%:*} __genv1_saved=${__genv1_saved#*:}
    case $__genv1_name in
    '' | [0-9]* | *[!A-Za-z0-9_]*) continue ;;
    esac
    eval "__genv1_value=\${GENV_BACKUP_ENV_$__genv1_name-}"
    unset -v "GENV_BACKUP_ENV_$__genv1_name"
    case $__genv1_name:$__genv1_value in
    *:) ;;
    PS1:*) PS1=$__genv1_value ;;
    *) export "$__genv1_name=$__genv1_value" ;;
    esac
done
if [ -n "$__genv1_visible" ]; then
    unset -v CUDA_VISIBLE_DEVICES
fi
unset -v GENV_ENVS GENV_BACKUP_ENVS __genv1_set __genv1_saved __genv1_visible __genv1_name __genv1_value
unset -f genv _genv_append_to_env _genv_backup_env _genv_set_env _genv_replace_env _genv_unset_env _genv_unset_envs \
    _genv_restore_env _genv_restore_envs 2>/dev/null || :
