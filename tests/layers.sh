#!/bin/bash
# layers.sh - the direction of includes, where third-party headers are included, where memory is allocated, that files have
# names of their own, that comments open as sentences and name functions that are there, and that docs name files that are
# there. Prints each offending line and exits 1. `layers.sh TSIM long` first tries itself on small trees that are wrong.
#
#   base <- config <- {model <- partition, cluster} <- cost <- network <- step <- run <- results <- study <- report <- cli; engine
#   sees base alone, campaign sees base, config and engine, and run sees it
#   import sees base, config, model, partition, and serve sees base; both are seen by cli
#   library sees cli and what cli sees, import and serve apart
#
# A folder may have folders of its own: they see what it may see. Where INSIDE names them, they also see what stands at
# the folder's top and, of each other, what INSIDE says.
set -u

# The folders that a folder may include, itself apart.
ALLOWED='base:
engine: base
config: base
model: base config
partition: base config model
cluster: base config
cost: base config model partition cluster
network: base config cluster cost engine
import: base config model partition
step: base config model partition cluster cost engine network
campaign: base config engine
run: base config model partition cluster cost engine network step campaign
results: base config model partition cluster cost engine network step campaign run
study: base config model partition cluster cost engine network step campaign run results
report: base config model partition cluster cost engine network step campaign run results study
serve: base
cli: base config model partition cluster cost engine network step campaign run results study report import serve
library: base config model partition cluster cost engine network step campaign run results study report cli'

INSIDE='config/text:
config/keys: config/text
config/files: config/text config/keys
config/draft: config/text config/keys config/files
import/models:
import/launches:
import/machines:
import/traces:
step/pass:
step/groups: step/pass
step/account: step/groups
step/folding: step/groups
step/input:
step/replay:'

# The sources under sim/ with one of the endings.
sources() {
    find sim -mindepth 2 -name "*.[$1]" | sort
}

# FILE:LINE:text of every include of one of our own headers that points the wrong way.
wrong_arrows() {
    awk -v rules="$ALLOWED
$INSIDE" '
        BEGIN {
            n = split(rules, lines, "\n")
            for (i = 1; i <= n; i++) {
                split(lines[i], parts, ":")
                allowed[parts[1]] = " " parts[1] parts[2] " "
            }
        }
        FNR == 1 {
            split(FILENAME, path, "/")
            folder = path[2]
            inner = folder "/" path[3]
            if (!(folder in allowed)) print FILENAME ":1: the folder sim/" folder " has no place in the layers"
        }
        folder in allowed && /^[ \t]*#[ \t]*include[ \t]*"/ {
            split($0, quoted, "\"")
            split(quoted[2], target, "/")
            if (quoted[2] !~ "/")
                print FILENAME ":" FNR ": " $0 "   (write the folder: \"" folder "/" quoted[2] "\")"
            else if (index(allowed[folder], " " target[1] " ") == 0)
                print FILENAME ":" FNR ": " $0 "   (sim/" folder " may not include sim/" target[1] ")"
            else if (inner in allowed && target[1] == folder && target[3] != "" && index(allowed[inner], " " target[1] "/" target[2] " ") == 0)
                print FILENAME ":" FNR ": " $0 "   (sim/" inner " may not include sim/" target[1] "/" target[2] ")"
        }' $(sources ch)
}

# Third-party headers: only in .c files, and each in one of them.
third_party() {
    local header
    grep -nE '^[[:space:]]*#[[:space:]]*include[[:space:]]*<(yaml|sqlite3|jansson|zlib|expat|microhttpd|chakra\.pb-c|protobuf-c/[^>]*|gsl/[^>]*)(\.h)?>' $(sources h) /dev/null |
        sed 's/$/   (third-party headers belong in one .c file)/'
    while read -r header; do
        local users
        users=$(grep -nE "^[[:space:]]*#[[:space:]]*include[[:space:]]*<$header>" $(sources c) /dev/null)
        [ "$(cut -d: -f1 <<<"$users" | sort -u | wc -l)" -gt 1 ] &&
            printf '%s\n' "$users" | sed "s|\$|   (<$header> is included by more than one file)|"
    done < <(grep -hoE '<(yaml\.h|sqlite3\.h|jansson\.h|zlib\.h|expat\.h|microhttpd\.h|chakra\.pb-c\.h|protobuf-c/[^>]*|gsl/[^>]*)>' $(sources c) /dev/null | tr -d '<>' | sort -u)
}

# The heap belongs to base/arena.c. Comments may speak of it.
allocations() {
    awk '
        FILENAME != "sim/base/arena.c" {
            code = $0
            sub("/[*].*", "", code)
            sub("^ [*] .*", "", code)
            sub("//.*", "", code)
            if (code ~ /(^|[^A-Za-z0-9_.>])(malloc|calloc|realloc|free|strdup|strndup)[ \t]*\(/)
                print FILENAME ":" FNR ":" code "   (memory comes from arenas)"
        }' $(sources ch)
}

# A file's name says what it is, wherever it lies: no two have the same, and none is a part of another.
names() {
    sources ch | sed 's|.*/||' | sort | uniq -d | sed 's/$/   (the name of more than one file under sim)/'
    sources ch | grep -E '_parts\.[ch]$' | sed 's/$/   (named after being a part)/'
}

# A sentence of a comment, a document or a help text has a subject: one that opens with "Of" or "What" and does not ask hides who does what, as
# does a comment above a function or a type that opens with "Where", "How" or "The same of".
comments() {
    {
        find sim tests -name '*.[ch]' -o -name '*.def' | sort | xargs grep -nE '(/\*+ |^ *\* +|\. )(Of|What) ' /dev/null
        find sim tests -name '*.[ch]' -o -name '*.def' | sort | xargs grep -nE '^ */\*+ (As|Behind|Beside|How|Same|That of|The same (as|by|for|of|where|with)|Those of|Where|Whether|Which|Who|Whose) ' /dev/null
        grep -nE '(^|\. )(Of|What) ' docs/*.md README.md CONTRIBUTING.md /dev/null 2>/dev/null
        find Makefile .ci docs hardware models scenarios tests tools -type f ! -name layers.sh \
            \( -name Makefile -o -name run -o -name cmd -o -name '*.sh' -o -name '*.py' -o -name '*.js' -o -name '*.yaml' \) 2>/dev/null |
            sort | xargs grep -nE '((#|//) |"""|\. )(Of|What) ' /dev/null
    } | grep -vE '(Of|What) [^.]*\?' | sed 's/$/   (open with a subject and a verb)/'
}

# Functions that comments name are there. (A name before "{" is a figure's for Prometheus.)
stale_names() {
    local code
    code=$(mktemp)
    find sim -name '*.[ch]' -o -name '*.def' | xargs cat | gcc -fpreprocessed -dD -E -P -x c - 2>/dev/null |
        grep -oE '\btsim_[a-z0-9_]+' | sort -u >"$code"
    find sim -name '*.[ch]' -o -name '*.def' | sort | xargs grep -noE '\btsim_[a-z0-9_]*[a-z0-9]\b[{]?' /dev/null |
        awk -F: -v code="$code" 'BEGIN {while ((getline name <code) > 0) is_there[name] = 1}
            !($3 in is_there) && $3 !~ /[{]$/ && !seen[$1 $3]++ {print $1 ":" $2 ": " $3 "   (a comment names what is not there)"}'
    rm -f "$code"
}

# Where a model's keys become kinds of layer nobody above asks for the keys: a kind answers (sim/model/layer_kind.h).
asked_keys() {
    sources ch | grep -vE '^sim/(config|model|import)/' | xargs -r grep -nE '\b(m|model)->(list|encoder_layers)\b' /dev/null |
        sed 's/$/   (ask the kinds of layer, or the ends and stacks of the model: sim\/model)/'
}

# Files and folders that docs name are there; a * stands for any of them.
named_paths() {
    local place line path
    grep -noE '\b(sim|tests|tools)/[A-Za-z0-9_./*-]*[A-Za-z0-9_*]' docs/*.md README.md CONTRIBUTING.md /dev/null 2>/dev/null |
        while IFS=: read -r place line path; do
            compgen -G "$path" >/dev/null || echo "$place:$line: $path   (there is no such file)"
        done
}

check() {
    cd "$1" || return 1
    local found
    if [ -z "$(sources c)" ]; then
        echo "layers.sh: no sources under $PWD/sim"
        return 1
    fi
    found=$(
        wrong_arrows
        third_party
        allocations
        names
        comments
        stale_names
        asked_keys
        named_paths
    )
    [ -z "$found" ] && return 0
    echo "$found"
    return 1
}

# A small tree for each rule; PATTERN must appear in what the check prints.
expect() {
    local what=$1 pattern=$2 tree
    shift 2
    tree=$(mktemp -d)
    mkdir -p "$tree"/{tests,docs} "$tree"/sim/{base,config,engine,model,partition,cost,run,results,study,cli} "$tree"/sim/import/{models,traces}
    printf '#include "base/a.h"\n#include <stdio.h>\n/* free (of charge) */\n' >"$tree/sim/config/ok.c"
    while [ $# -gt 0 ]; do
        printf '%b' "$2" >"$tree/sim/$1"
        shift 2
    done
    local out
    if out=$(check "$tree"); then
        [ "$pattern" = clean ] || echo "layers.sh, of itself: $what was not caught"
    elif [ "$pattern" = clean ] || ! grep -qE "$pattern" <<<"$out"; then
        echo "layers.sh, of itself: $what: unexpected output: $out"
    fi
    rm -rf "$tree"
}

self_test() {
    expect "a clean tree" clean base/a.h '' cli/x.c '#include "run/run.h"\n#include <yaml.h>\n'
    expect "base including config" 'sim/base/x.c:2:' base/x.c '\n#include "config/y.h"\n'
    expect "the engine including config" 'sim/engine/x.h:1:' engine/x.h '#include "config/y.h"\n'
    expect "partition including cost" 'sim/partition/x.c:1:' partition/x.c '# include "cost/y.h"\n'
    expect "the model including partition" 'sim/model/x.c:1:' model/x.c '#include "partition/y.h"\n'
    expect "results including study" 'sim/results/x.c:1:' results/x.c '#include "study/y.h"\n'
    expect "study including report" 'sim/study/x.h:1:' study/x.h '#include "report/y.h"\n'
    expect "a folder of a folder" 'sim/import/models/x.c:2:.*cost' import/models/x.c '\n#include "cost/y.h"\n'
    expect "what stands at a folder's top" clean import/models/x.c '#include "import/y.h"\n#include "import/models/x.h"\n'
    expect "a folder's top" clean import/x.c '#include "import/models/y.h"\n#include "import/traces/y.h"\n'
    expect "one folder of a folder including the next" 'sim/import/models/x.h:1:.*traces' import/models/x.h '#include "import/traces/y.h"\n'
    expect "an include without its folder" 'write the folder' cost/x.c '#include "y.h"\n'
    expect "two users of a library" 'more than one' cli/x.c '#include <yaml.h>\n' config/y.c '#include <yaml.h>\n'
    expect "one gsl header in two files" 'more than one' cli/x.c '#include <gsl/gsl_fit.h>\n' cost/y.c '#include <gsl/gsl_fit.h>\n'
    expect "two gsl headers in two files" clean cli/x.c '#include <gsl/gsl_fit.h>\n' cost/y.c '#include <gsl/gsl_min.h>\n'
    expect "a library in a header" 'one .c file' config/x.h '#include <sqlite3.h>\n'
    expect "a heap word in a comment" clean cost/x.c '/* one line\n * calloc (4) and free (it)\n */\n'
    expect "malloc" 'sim/cost/x.c:2:.*arenas' cost/x.c '\nint *p = malloc(4);\n'
    expect "malloc in a folder of a folder" 'sim/import/models/x.c:1:.*arenas' import/models/x.c 'int *p = malloc(4);\n'
    expect "two files of one name" '^x.c .*more than one file' cost/x.c '' import/models/x.c ''
    expect "a header and a file of one name" clean cost/x.c '' cost/x.h ''
    expect "a file that is a part" 'sim/cost/x_parts.h .*being a part' cost/x_parts.h ''
    expect "a comment without a subject" 'sim/cost/x.c:2:.*subject' cost/x.c 'int a; /* Its size. */\n/* Of the size. */\n'
    expect "a comment that seems to ask" 'sim/cost/x.h:1:.*subject' cost/x.h '    /* What it costs. */\n'
    expect "a sentence inside a comment" 'sim/cost/x.h:2:.*subject' cost/x.h '/* It adds\n * costs. Of two the larger. */\n'
    expect "a comment that asks" clean cost/x.h '/* It adds. What does it cost? */\n'
    expect "a sentence of a document" '^docs/a.md:2:.*subject' ../docs/a.md 'Costs.\nWhat it costs is added.\n'
    expect "a comment of a test of commands" '^tests/cmd:2:.*subject' ../tests/cmd 'true\n# What it prints is kept.\n'
    expect "a comment behind a line of a script" '^tests/x.sh:1:.*subject' ../tests/x.sh 'true # Of three the first.\n'
    expect "a text of Python" '^tests/x.py:1:.*subject' ../tests/x.py '"""What it returns."""\n'
    expect "a comment of the Makefile" '^Makefile:1:.*subject' ../Makefile '# What is built.\n'
    expect "a function that is gone" '^sim/cost/x.c:1: tsim_gone ' cost/x.c '/* See tsim_gone. */\nvoid tsim_there(void);\n'
    expect "a function that is there" clean cost/x.c '/* See tsim_there, tsim_a_b{x="y"}. */\nvoid tsim_there(void);\n'
    expect "a key of the model above its kinds" 'sim/cost/x.c:1:.*kinds of layer' cost/x.c 'a = sc->model->encoder_layers;\n'
    expect "a list that is no model's" clean cost/x.c 'a = lacks->list;\n' model/y.c 'a = m->list;\n'
    expect "a path in docs that is not there" '^docs/a.md:2: sim/cost/y.h ' ../docs/a.md 'See `sim/cost`.\nAnd `sim/cost/y.h`.\n'
    expect "paths in docs" clean ../docs/a.md 'See `sim/cost`, `sim/co*/x.c`, sim/cost/x.c.\n' cost/x.c ''
    expect "free" 'sim/cost/x.c:1:.*arenas' cost/x.c '\tfree (p);\n'
    expect "names that contain free" clean cost/x.c 'tsim_heap_free(p);\njson->free(p);\n'
}

cd "$(dirname "$0")/.." || exit 1
found=$(
    [ "${2:-}" != long ] || self_test
    (check .)
)
[ -z "$found" ] && exit 0
echo "$found"
exit 1
