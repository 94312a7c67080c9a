# rule KEY=VALUE...: what tsim says to $file with these settings.
file=small.yaml
rule() {
    echo "$ $*"
    local sets=() setting
    for setting in "$@"; do sets+=(--set "$setting"); done
    tsim check "$file" "${sets[@]}" 2>&1 | sed -E 's/the [0-9]+ that there are/the # that there are/'
    echo "exit status ${PIPESTATUS[0]}"
}
