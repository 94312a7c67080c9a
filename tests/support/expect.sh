# Sourced by tests that are commands: expect WHAT COMMAND..., and at the end: told.
passed=0 failed=0
expect() {
    local what=$1
    shift
    if "$@"; then passed=$((passed + 1)); else failed=$((failed + 1)); echo "FAIL $what"; fi
}

told() {
    echo "$passed passed, $failed failed"
    [ "$failed" = 0 ]
}
