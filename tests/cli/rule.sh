# rule KEY=VALUE...: what tsim says to $file with these settings.
file=small.yaml
rule() {
    echo "$ $*"
    local sets=() setting
    for setting in "$@"; do sets+=(--set "$setting"); done
    tsim check "$file" "${sets[@]}" 2>&1 | sed -E 's/shows all [0-9]+;/shows all #;/'
    echo "exit status ${PIPESTATUS[0]}"
}
