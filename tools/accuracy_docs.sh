#!/usr/bin/env bash
# The pages about errors, from the tables of hardware/calibration and the files of scenarios/published: docs/accuracy.md,
# docs/errors.md and the picture docs/accuracy.svg as a whole, and the lines between marks (<!-- NAME -->) of README.md and docs/method.md.
# tools/accuracy_docs.sh --write writes them all, --check prints what differs.
set -eu
export LC_ALL=C
cd "$(dirname "$0")/.."
table=hardware/calibration/residuals.csv
blind_table=hardware/calibration/blind.csv

# Lines "KEY ERROR" (error: predicted over measured step time, less 1) -> a table by key, in the order of the keys.
score() { # TITLE
  sort -t'	' -k1,1 -s | awk -F'\t' -v title="$1" '
    function size(x) {return x < 0 ? -x : x}
    function flush(   i, j, x, p, inside_of) {
      if (!n) return
      for (i = 2; i <= n; i++) {x = e[i]; for (j = i - 1; j > 0 && e[j] > x; j--) e[j + 1] = e[j]; e[j + 1] = x}
      p = 1 + 0.9 * (n - 1); i = int(p); j = i < n ? i + 1 : i
      sub(/^[0-9]+#/, "", key)
      printf "| %s | %d | %.1f %% | %.1f %% | %.1f %% | %+.1f %% | %.0f %% |\n", key, n, 100 * sum / n,
        100 * (e[i] + (p - i) * (e[j] - e[i])), 100 * e[n], 100 * bias / n, 100 * inside / n
    }
    BEGIN {
      print "| " title " | runs | mean error | 90th percentile | worst | bias | within the interval |"
      print "| --- | --- | --- | --- | --- | --- | --- |"
    }
    $1 != key {flush(); key = $1; n = sum = bias = inside = 0}
    {e[++n] = size($2); sum += size($2); bias += $2; inside += $3}
    END {flush()}'
}

# EXPRESSION of the columns, named below, is the key; a number and # in front of it order the rows.
by() { # TITLE EXPRESSION
  echo
  awk -F, 'function log2(x) {return log(x) / log(2)}
    function range(x, a, b, c) {return x < a ? "1#below " a : x < b ? "2#" a " to " b - 1 : x < c ? "3#" b " to " c - 1 : "4#" c " and more"}
    NR > 1 {
      source = $2; accelerator = $3; software = $5; model = $6; precision = $7; zero3 = $8; accelerators = $10
      tensor = $11; pipeline = $12; micro_batch = $13; hidden = $18; estimated = $20
      print ('"$2"') "\t" 1 / $15 - 1 "\t" ($15 >= $16 && $15 <= $17)
    }' "$table" | score "$1"
}

# The same of runs that were predicted before they were compared with; those that were predicted not to fit have no time.
blind_by() { # TITLE EXPRESSION
  echo
  awk -F, 'NR > 1 && $8 != "" {
      accelerator = $4; kind = $5; accelerators = $6
      print ('"$2"') "\t" $8 / $7 - 1 "\t" ($9 != "" && $7 >= $9 && $7 <= $10)
    }' "$blind_table" | score "$1"
}

# A row of README's table, out of a table of one row.
readme_row() { # TEXT
  awk -F' [|] ' -v text="$1" 'END {sub(/ \|$/, "", $7); printf "| %s | %s | %s | %s | %s |\n", text, $2, $3, $4, $7}'
}

# ACCELERATOR YEAR of those of the catalogue and of measured machines; one without a year has that of the one it extends.
years() {
  awk -F': *' '{sub(/ *#.*/, "")} FNR == 1 {name = FILENAME; gsub(/.*\/|\.yaml$/, "", name); names[name]}
    $1 == "year" {year[name] = $2} $1 == "extends" {base[name] = $2}
    END {
      for (name in names) {
        for (at = name; !(at in year) && at in base;) at = base[at]
        if (at in year) print name, year[at]
      }
    }' hardware/accelerators/*.yaml scenarios/published/machines/*.yaml
}

# Lines "KEY ERROR BLIND" -> a row for each key: how many runs, their mean error, and the same of those that were predicted blind.
side_by_side() { # TITLE
  echo "| $1 | runs in the repository | their mean error | runs predicted blind | their mean error |"
  echo '| --- | --- | --- | --- | --- |'
  awk -F'\t' '
    function figures(n, sum) {return n ? n " | " sprintf("%.1f %%", 100 * sum / n) : " | "}
    {keys[$1]; n[$1, $3]++; sum[$1, $3] += ($2 < 0 ? -$2 : $2)}
    END {for (key in keys) print "| " key " | " figures(n[key, 0], sum[key, 0]) " | " figures(n[key, 1], sum[key, 1]) " |"}' | sort
}

# The kinds of models, and what is no step: rounds of post-training, and generation, of the runs that are compared. A blind run has the
# kind that its traits say, or, where no step of it is scored, the one that was recorded.
kinds() {
  {
    awk -F, 'FNR == 1 {next} NR == FNR {model[$1] = $6; next} $8 != "" {print ($1 in model ? model[$1] : $5) "\t" $8 / $7 - 1 "\t" 1}' \
      hardware/calibration/blind-residuals.csv "$blind_table"
    awk -F, 'NR > 1 {print $6 "\t" 1 / $15 - 1 "\t" 0}' "$table"
    awk -F, '$3 ~ /^generated/ {print $3 "\t" $4 "\t" 0}' hardware/calibration/compared.csv
  } | awk -F'\t' -v OFS='\t' '
    BEGIN {
      n = split("cnn=convolutional,dlrm=recommendation,dense=dense transformer,experts=mixture of experts,adapters=with adapters,hybrid=state-space hybrid,rounds=rounds of GRPO,diffusion=diffusion transformer,encoder-decoder=encoder and decoder,generated_tokens_per_s_per_gpu=generation alone", word, ",")
      for (i = 1; i <= n; i++) {split(word[i], half, "="); name[half[1]] = half[2]}
    }
    $1 in name {$1 = name[$1]}
    {print}' | side_by_side 'kind of model or work'
}

# Runs by an EXPRESSION of the accelerator or of its year.
accelerators() { # TITLE EXPRESSION
  local year_of='BEGIN {n = split(years, word, /[ \n]+/); for (i = 1; i < n; i += 2) year[word[i]] = word[i + 1]} '
  {
    awk -F, -v years="$(years)" "$year_of"'NR > 1 && $8 != "" {accelerator = $4; print ('"$2"') "\t" $8 / $7 - 1 "\t" 1}' "$blind_table"
    awk -F, -v years="$(years)" "$year_of"'NR > 1 {accelerator = $3; print ('"$2"') "\t" 1 / $15 - 1 "\t" 0}' "$table"
  } | side_by_side "$1"
}

# The blind runs outside the intervals of their day, and outside those of today.
outside() {
  local then now
  then=$(blind_by '' '"all"' | awk -F' [|] ' 'END {print 100 - $7}')
  now=$(awk -F, '$2 == "blind" && $3 == "all" {printf "%.0f", 100 - 100 * $5}' hardware/calibration/held-intervals.csv)
  echo "The interval widens where nobody has measured, and says why: $then % of the blind runs fell outside that of their day, $now % outside"
  echo "today's, fitted without their source ([accuracy](docs/accuracy.md) and its misses, [method](docs/method.md))."
}

accuracy() {
  echo '| runs | number | mean error of the step time | 90th percentile | within the stated 90 % interval |'
  echo '| --- | --- | --- | --- | --- |'
  blind_by '' '"all"' | readme_row '**predicted blind**: tsim had not been compared with them'
  by '' '"all"' | readme_row 'in the repository: tsim was improved on them'
}

# The same runs by what is trained and by age of the machine.
groups() {
  local era='year[accelerator] < 2022 ? "accelerators of 2017 to 2021" : year[accelerator] < 2024 ? "accelerators of 2022 and 2023" : "accelerators of 2024 and 2025"'
  kinds
  accelerators '' "$era" | tail -n +3
}

# Without the column of intervals: there are none of memory.
memory() {
  awk -F, 'NR > 1 {split($1, word, "-"); print "all\t" $5 "\t0"; print word[1] "\t" $5 "\t0"}' hardware/calibration/memory.csv |
    score source | sed 's/ [^|]*|$//'
}

left_out() {
  local file name
  echo '| run | why |'
  echo '| --- | --- |'
  printf '%s\n' scenarios/published/*.yaml | sed 's|.*/||; s|\.yaml$||' | awk -F, 'FNR == NR {has[$1]; next} !($1 in has)' "$table" - | while read -r name; do
    file=scenarios/published/$name.yaml
    if grep -q '^  doubtful: ' "$file"; then
      echo "| $name | $(sed -n 's/^  doubtful: "\{0,1\}\([^"]*\)"\{0,1\}$/\1/p' "$file") |"
    elif grep -qE '^  (step_time|samples_per_s|[a-z_]*per_gpu|tokens_per_s):' "$file"; then # others state memory alone
      echo "| $name | tsim predicts that it does not fit in memory |"
    fi
  done
}

# The sizes of the effects that an interval is made of.
sizes() {
  echo '| effect | dense transformers | other models |'
  echo '| --- | --- | --- |'
  awk -F, 'NR > 1 && $1 !~ / end$/ {printf "| %s | %s | %.1f |\n", $1, $1 == "kind" ? "" : sprintf("%.1f", 100 * $2), 100 * $3}' hardware/calibration/intervals.csv
}

# The share of runs inside the intervals of sources and accelerators that were left out.
held() {
  echo '| left out | runs | inside | groups | groups that hold | groups that do not (runs, inside) |'
  echo '| --- | --- | --- | --- | --- | --- |'
  awk -F, '
    function flush() {if (n_groups) printf "| by %s | %d | %.1f %% | %d | %d | %s |\n", by, runs, 100 * inside, n_groups, n_hold, misses}
    $2 == "left_out" {next}
    $3 == "all" {flush(); by = $2 == "blind" ? "source, blind runs" : $2; runs = $4; inside = $5; n_groups = n_hold = 0; misses = ""; next}
    {n_groups++; n_hold += $7; if (!$7) misses = misses (misses ? ", " : "") $3 " (" $4 ", " sprintf("%.0f", 100 * $5) " %)"}
    END {flush()}' hardware/calibration/held-intervals.csv
}

# Each source predicted with the matrix rate that all others give.
held_out() {
  echo '| products | sources | runs | rates | mean error | bias | with the catalogue'"'"'s rate |'
  echo '| --- | --- | --- | --- | --- | --- | --- |'
  awk -F, 'NR > 1 {
    printf "| %s | %d | %d | %.3f to %.3f | %.1f %% | %+.1f %% | %.1f %% |\n", $1, $2, $3, $4, $5, 100 * $6, 100 * $7, 100 * $8
  }' hardware/calibration/held-out.csv
}

# And all others predicted with the rate that one source gives.
transfer() {
  echo '| products | fitted on | its runs | sustained rate | error on them | other runs | error on those | bias | with the catalogue'"'"'s rate |'
  echo '| --- | --- | --- | --- | --- | --- | --- | --- | --- |'
  awk -F, 'NR > 1 {
    printf "| %s | %s | %d | %.3f | %.1f %% | %d | %.1f %% | %+.1f %% | %.1f %% |\n", $1, $2, $3, $4, 100 * $5, $6, 100 * $7,
      100 * $8, 100 * $9
  }' hardware/calibration/transfer.csv
}

# Runs off by more than ten per cent, the worst first, each with the reason of the first pattern that fits it.
misses() {
  echo '| run | accelerator | error | known reason |'
  echo '| --- | --- | --- | --- |'
  awk -F, 'FNR == 1 {file++; next}
    file == 1 {pattern[++n] = $1; reason[n] = substr($0, length($1) + 2); next}
    {
      e = 1 / $15 - 1
      if (e <= 0.1 && e >= -0.1)
        next
      for (i = 1; i <= n && $1 !~ "^" pattern[i]; i++);
      printf "%.4f\t| %s | %s | %+.1f %% | %s |\n", (e < 0 ? -e : e), $1, $3, 100 * e, (i <= n ? reason[i] : "not known")
    }' tools/accuracy_reasons.csv "$table" | sort -t'	' -k1,1nr -k2,2 | cut -f2
}

# Kinds of runs of scenarios/compared: pattern, what they are, and why they are not scored.
compared_kinds() {
  awk -F'\t' 'FNR == 1 {file++}
    file == 1 {pattern[++n] = $1; text[n] = $2; why[n] = $3; next}
    FNR > 1 {split($0, c, ","); for (i = 1; i <= n && c[1] !~ "^(" pattern[i] ")"; i++); runs[i]++; bias[i] += c[4]; sum[i] += (c[4] < 0 ? -c[4] : c[4]); inside[i] += (c[5] == "yes")}
    END {
      print "| runs | number | mean error | bias | within the interval | why they are not scored |"
      print "| --- | --- | --- | --- | --- | --- |"
      for (i = 1; i <= n + 1; i++)
        if (runs[i])
          printf "| %s | %d | %.1f %% | %+.1f %% | %d | %s |\n", (i > n ? "others" : text[i]), runs[i], 100 * sum[i] / runs[i], 100 * bias[i] / runs[i], inside[i], why[i]
    }' tools/accuracy_compared.tsv hardware/calibration/compared.csv
}

compared() {
  echo '| run | accelerator | error | within the interval |'
  echo '| --- | --- | --- | --- |'
  awk -F, 'NR > 1 {printf "| %s | %s | %+.1f %% | %s |\n", $1, $2, 100 * $4, $5}' hardware/calibration/compared.csv
}

accuracy_page() {
  cat <<'TEXT'
# Accuracy

`make docs-accuracy` writes this page from the tables in `hardware/calibration`: do not edit it. Every error is that of a step time, or of a round of
GRPO, and a minus means that the prediction was too fast. LitGPT published times of whole runs, whose errors stand for those of their steps.

TEXT
  accuracy
  cat <<'TEXT'

Expect the first line for a machine, a framework or a kind of model that is new to tsim, and the second for those that it has been compared
with. Where a run of the second line was far off, its recipe was read again and what was missing was built, so this line is optimistic.
TEXT
  awk -F, '$2 == "blind" && $3 == "all" {printf "The intervals of the first line are those of that time. Made as they are today, without the runs of the same source, they hold **%.0f %%** of them.\n", 100 * $5}' hardware/calibration/held-intervals.csv
  cat <<'TEXT'
[Method](method.md) says how runs are predicted blind and how intervals are made, [errors](errors.md) has tables by source, software and
cause, and [history](history.md) tells what was learnt from each source.

```sh
build/tsim validate scenarios/published
```

![Predicted against measured step time](accuracy.svg)

## By kind

TEXT
  kinds
  printf '\n## By year of the accelerator\n\n'
  accelerators year 'year[accelerator]'
  printf '\n## By machine\n\n'
  accelerators accelerator accelerator
  cat <<'TEXT'

## Memory

The peak of the fullest accelerator, as allocators or `nvidia-smi` report it.

TEXT
  memory
  cat <<'TEXT'

## Runs off by more than ten per cent

TEXT
  misses
  cat <<'TEXT'

## Compared, not scored

The recipes of these runs (`scenarios/compared`) are only partly known. Intervals do not use them. torchtitan's plans of 2024 beyond
fully sharded data parallelism are **much slower than predicted**, and `tsim run` warns of them.

TEXT
  compared_kinds
}

errors_page() {
  local unpredicted
  unpredicted=$(awk -F, 'NR > 1 && $8 == ""' "$blind_table" | wc -l)
  cat <<'TEXT'
# Errors in tables

`make docs-accuracy` writes this page from the tables in `hardware/calibration`: do not edit it. Every error is that of a step time, and a minus
means that the prediction was too fast. [Accuracy](accuracy.md) is the short form.

## Predicted blind
TEXT
  blind_by '' '"all"'
  blind_by kind kind
  blind_by accelerator accelerator
  blind_by accelerators 'accelerators < 9 ? "1#up to 8" : accelerators < 65 ? "2#9 to 64" : accelerators < 513 ? "3#65 to 512" : "4#513 and more"'
  printf '\n%s more ran, although tsim predicted that they would not fit in memory.\n' "$unpredicted"
  printf '\n## In the repository\n'
  by '' '"all"'
  by 'machines whose matrix rate is' '(estimated ? "2#an estimate from its data sheet" : "1#measured or fitted")'
  by source source
  by accelerator accelerator
  printf '\n## By setting\n\nAn error that comes from one of these settings shows as a bias of its groups.\n'
  by 'micro-batch' 'range(micro_batch, 2, 4, 8)'
  by 'hidden size' 'range(hidden, 4096, 8192, 12288)'
  by 'tensor degree' '(tensor < 2 ? "1#1" : tensor < 4 ? "2#2" : tensor < 8 ? "3#4" : "4#8 and more")'
  by 'pipeline stages' '(pipeline < 2 ? "1#1" : range(pipeline, 2, 4, 8))'
  by accelerators 'range(accelerators, 9, 65, 513)'
  by precision precision
  by sharding '(zero3 ? "parameters sharded (ZeRO-3)" : "parameters whole")'
  by model model
  by 'software profile' software
  printf '\n## Runs left out\n\n'
  left_out
  printf '\n## Compared, not scored\n\n```sh\nbuild/tsim validate scenarios/compared\n```\n\n'
  compared
}

# Step time, predicted over measured, both logarithmic: four decades, and a band of 10 % to each side.
picture() {
  awk -F, '
    function log10(x) {return log(x) / log(10)}
    function x_of(s) {return 70 + 520 * log10(s / low) / log10(high / low)}
    function y_of(s) {return 590 - 520 * log10(s / low) / log10(high / low)}
    function widen(s) {if (!low || s < low) low = s; if (s > high) high = s}
    function line(x1, y1, x2, y2, colour, dash) {
      printf "<line x1=\"%.1f\" y1=\"%.1f\" x2=\"%.1f\" y2=\"%.1f\" stroke=\"%s\"%s/>\n", x1, y1, x2, y2, colour, dash
    }
    function text(x, y, anchor, s) {printf "<text x=\"%.1f\" y=\"%.1f\" text-anchor=\"%s\">%s</text>\n", x, y, anchor, s}
    NR == FNR {if (FNR > 1) {widen($19); widen($15 * $19)}; next}
    FNR == 1 { # room for the outermost, and their circles
      low /= 1.2; high *= 1.2
      n_colours = split("#1b6ca8 #d1495b #2e8540 #8e5ea2 #c77b00 #444444 #00848c #b0308f #b8860b #5f9ea0 #a0522d #6a5acd #e07a5f #3d5a80 #81b29a #bc4749 #7209b7 #4d908e #f9844a #577590", colour, " ")
      print "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 780 640\" font-family=\"sans-serif\" font-size=\"13\">"
      print "<rect width=\"780\" height=\"640\" fill=\"#ffffff\"/>"
      for (d = -3; d <= 4; d++) {
        s = 10 ^ d
        if (s < low || s > high)
          continue
        line(x_of(s), y_of(low), x_of(s), y_of(high), "#dddddd")
        line(x_of(low), y_of(s), x_of(high), y_of(s), "#dddddd")
        text(x_of(s), 608, "middle", s " s")
        text(62, y_of(s) + 4, "end", s " s")
      }
      line(x_of(low), y_of(low), x_of(high), y_of(high), "#000000")
      line(x_of(low), y_of(1.1 * low), x_of(high / 1.1), y_of(high), "#999999", " stroke-dasharray=\"4\"")
      line(x_of(1.1 * low), y_of(low), x_of(high), y_of(high / 1.1), "#999999", " stroke-dasharray=\"4\"")
      text(330, 630, "middle", "measured step time (dashed: 10 % off)")
      print "<text transform=\"translate(16 330) rotate(-90)\" text-anchor=\"middle\">predicted step time</text>"
    }
    FNR > 1 {
      if (!($3 in number)) {number[$3] = ++n; text(620, 40 + 20 * n, "start", $3)
        printf "<circle cx=\"608\" cy=\"%d\" r=\"4\" fill=\"%s\"/>\n", 36 + 20 * n, colour[(n - 1) % n_colours + 1]}
      printf "<circle cx=\"%.1f\" cy=\"%.1f\" r=\"3.5\" fill=\"%s\" fill-opacity=\"0.6\"><title>%s: %+.1f %%</title></circle>\n",
        x_of($15 * $19), y_of($19), colour[(number[$3] - 1) % n_colours + 1], $1, 100 * (1 / $15 - 1)
    }
    END {print "</svg>"}' "$table" "$table"
}

# FILE with the lines between its marks made anew; a mark is called as the function that prints them.
filled() { # FILE
  local line name is_inside=''
  while IFS= read -r line; do
    [[ $line == '<!-- /'* ]] && is_inside=''
    [ -n "$is_inside" ] || printf '%s\n' "$line"
    if [[ $line =~ ^'<!-- '([a-z_]+)' -->'$ ]]; then
      is_inside=yes
      "${BASH_REMATCH[1]}"
    fi
  done <"$1"
}

made() { # FILE
  case $1 in
  docs/accuracy.md) accuracy_page ;;
  docs/errors.md) errors_page ;;
  docs/accuracy.svg) picture ;;
  *) filled "$1" ;;
  esac
}

case ${1-} in
--write | --check)
  for file in docs/accuracy.md docs/errors.md docs/accuracy.svg docs/method.md README.md; do
    if [ "$1" = --check ]; then
      diff "$file" <(made "$file") || status=1
    else
      made "$file" >"$file.next" && mv "$file.next" "$file"
    fi
  done
  exit "${status-0}"
  ;;
*)
  echo 'usage: tools/accuracy_docs.sh --write | --check' >&2
  exit 2
  ;;
esac
