# Completion of spoor, gpu-tracker and resource-tracker for bash: the program lists what may follow.
_spoor() {
    local cur=${COMP_WORDS[COMP_CWORD]} line words='' lines
    [[ $cur != = ]] || cur=
    COMPREPLY=()
    mapfile -t lines < <("$1" --complete "${COMP_WORDS[@]:1:COMP_CWORD}" 2>/dev/null)
    for line in "${lines[@]}"; do
        case $line in
        '<files>') mapfile -t COMPREPLY < <(compgen -f -- "$cur") ;;
        '<commands>') mapfile -t COMPREPLY < <(compgen -c -- "$cur") ;;
        '<processes>') words+=" $(ps -eo pid= 2>/dev/null)" ;;
        '<command> '*)
            if declare -F _command_offset >/dev/null; then
                _command_offset "${line#* }"
            else
                mapfile -t COMPREPLY < <(compgen -c -f -- "$cur")
            fi ;;
        *) words+=" ${line%%$'\t'*}" ;;
        esac
    done
    mapfile -t -O ${#COMPREPLY[@]} COMPREPLY < <(compgen -W "$words" -- "$cur")
} && complete -F _spoor spoor gpu-tracker resource-tracker
