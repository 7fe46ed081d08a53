# Completion of spoor, gpu-tracker and resource-tracker for fish: the program lists what may follow.
function __spoor_complete
    set -l words (commandline -opc)
    set -l current (commandline -ct)
    set -l option (string match -r -- '^--[^=]*=' $current)
    set -l value (string replace -- "$option" '' $current)
    for line in ($words[1] --complete $words[2..] "$current" 2>/dev/null)
        switch $line
            case '<files>'
                __fish_complete_path $value
            case '<commands>'
                __fish_complete_command
            case '<processes>'
                __fish_complete_pids
            case '<command> *'
                set -l start (string replace '<command> ' '' $line)
                set -e words[1..$start]
                complete -C (string join -- ' ' (string escape -- $words) "$current")
            case '*'
                string match -r -- '^'(string escape --style=regex -- $value)'.*' $line
        end
    end | string replace -r -- '^' "$option"
end
for program in spoor gpu-tracker resource-tracker
    complete -c $program -f -a '(__spoor_complete)'
end
