#!/usr/bin/env bash
# The tables of docs/hardware.md, from the catalogue: tools/hardware_tables.sh TSIM [--write]
# Without --write they go to standard output; with it they replace what stands between the marks in docs/hardware.md.
set -euo pipefail
tsim=$1
cd "$(dirname "$0")/.."

# `show --csv` of every id of a kind, as lines: id,key,value (SI, as text), status.
values() {
    local id
    for id in $("$tsim" list "$1" --csv | sed '1d; s/^[^,]*,//' | grep -v '^single-'); do
        "$tsim" show "$1/$id" --csv | sed -n "2,\$s/^/$id,/p"
    done
}

# One row an id: the keys of `columns` (KEY:FORMAT, scaled by DIVISOR), '*' where the value is an estimate. The column
# 'structure' puts a fabric's tiers, torus or dragonfly into words.
rows() { # KIND COLUMN...
    local kind=$1
    shift
    values "$kind" | awk -F, -v wanted="$*" '
        function star(id, key) { return status[id, key] == "estimate" ? "\\*" : "" }
        function structure(id,    i, text, more) {
            if (value[id, "topology"] == "torus")
                return value[id, "torus.dimensions"] "D, rings at multiples of " value[id, "torus.wrap"] star(id, "torus.wrap")
            if (value[id, "topology"] == "dragonfly")
                return "groups of " value[id, "dragonfly.routers"] " switches, each with " value[id, "dragonfly.ports"] \
                    " ports and " value[id, "dragonfly.global_links"] star(id, "dragonfly.global_links") " global links"
            for (i = 0; (id, "tiers[" i "].ports") in value; i++) {
                more = value[id, "tiers[" i "].oversubscription"]
                text = text (i ? ", " : "") value[id, "tiers[" i "].ports"] (more > 1 ? " (" more ":1 above)" : "")
            }
            return text == "" ? "-" : (value[id, "rails"] == "true" ? "rails of " : "groups of ") text
        }
        function cell(id, column,    part, text, number) {
            if (column == "structure") return structure(id)
            split(column, part, ":")
            text = value[id, part[1]]
            if (part[2] == "") return text == "" ? "-" : text
            number = text + 0
            if (number == 0) return "-"
            number /= part[2]
            return sprintf(number < 1000 ? "%.4g" : "%.0f", number) star(id, part[1])
        }
        !($1 in seen) { seen[$1]; ids[++n] = $1 }
        { value[$1, $2] = $3; status[$1, $2] = $4 }
        END {
            n_columns = split(wanted, columns, " ")
            for (i = 1; i <= n; i++) {
                line = "| " ids[i]
                for (c = 1; c <= n_columns; c++) line = line " | " cell(ids[i], columns[c])
                print line " |"
            }
        }'
}

tables() {
    echo '### Accelerators'
    echo
    echo '| id | vendor | year | memory GiB | memory GB/s | fp32 | tf32 | fp16 | bf16 | fp8 | nvfp4 | idle W | limit W | rent USD/h | price USD |'
    echo '| --- | --- | ---: | ---: | ---: | ---: | ---: | ---: | ---: | ---: | ---: | ---: | ---: | ---: | ---: |'
    rows accelerator vendor year:1 memory:1073741824 memory_bandwidth:1e9 peak.fp32:1e12 peak.tf32:1e12 peak.fp16:1e12 \
        peak.bf16:1e12 peak.fp8:1e12 peak.nvfp4:1e12 power.idle:1 power.limit:1 rent:0.000277777777777778 purchase:1
    echo
    echo '### Nodes'
    echo
    echo '| id | accelerator | how many | scale-up | links | GB/s | measured GB/s | NICs | GB/s each | overhead W | limit W |'
    echo '| --- | --- | ---: | --- | --- | ---: | ---: | ---: | ---: | ---: | ---: |'
    rows node accelerator accelerators:1 scale_up.kind scale_up.name scale_up.bandwidth:1e9 \
        scale_up.ring_bandwidth:1e9 nics:1 nic_bandwidth:1e9 power.overhead:1 power.limit:1
    echo
    echo '### Fabrics'
    echo
    echo '| id | GB/s | reached | latency us | W a port | topology | of |'
    echo '| --- | ---: | ---: | ---: | ---: | --- | --- |'
    rows fabric bandwidth:1e9 efficiency:1 latency:1e-6 power_per_port:1 topology structure
    echo
    echo '### Storage'
    echo
    echo '| id | what | GB/s | of it at random | latency us | one stream GB/s | one node GB/s | shared |'
    echo '| --- | --- | ---: | ---: | ---: | ---: | ---: | --- |'
    rows storage place bandwidth:1e9 random_access:1 latency:1e-6 stream_bandwidth:1e9 client_bandwidth:1e9 shared
}

if [ "${2:-}" = --write ]; then
    tables >"docs/hardware.md.tables"
    awk '
        /^<!-- tables -->/ { print; while ((getline line < "docs/hardware.md.tables") > 0) print line; inside = 1 }
        /^<!-- \/tables -->/ { inside = 0 }
        !inside' docs/hardware.md >docs/hardware.md.new
    rm docs/hardware.md.tables
    mv docs/hardware.md.new docs/hardware.md
else
    tables
fi
