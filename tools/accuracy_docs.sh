#!/usr/bin/env bash
# docs/accuracy.md and its picture docs/accuracy.svg, from hardware/calibration/residuals.csv and blind.csv, the files of
# scenarios/published and tools/accuracy_remarks.md: tools/accuracy_docs.sh prints the page, --picture the picture, --readme
# the lines between README.md's accuracy marks; --write writes all three.
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

readme() {
  echo '| runs | number | mean error of the step time | 90th percentile | within the stated 90 % interval |'
  echo '| --- | --- | --- | --- | --- |'
  blind_by runs '"all"' | readme_row '**predicted blind**: tsim had not been compared with them'
  by runs '"all"' | readme_row 'in the repository: tsim was improved on them'
}

headline() {
  by runs '"all"'
  by 'machines whose matrix rate is' '(estimated ? "2#an estimate from its data sheet" : "1#measured or fitted")'
}

# Without the column of intervals: there are none of memory.
memory() {
  printf '\n## Memory\n\nThese are of the fullest accelerator: what allocators report, or what nvidia-smi does (BLOOM),
  which counts what its allocator holds in
reserve. Times that are doubtful do not make memory so; all rows are here.\n\n'
  awk -F, 'NR > 1 {split($1, word, "-"); print "all\t" $5 "\t0"; print word[1] "\t" $5 "\t0"}' hardware/calibration/memory.csv |
    score source | sed 's/ [^|]*|$//'
}

unscored() {
  local file name
  for file in scenarios/published/*.yaml; do
    name=$(basename "$file" .yaml)
    grep -q "^$name," "$table" && continue
    if grep -q '^  doubtful: ' "$file"; then
      echo "| $name | $(sed -n 's/^  doubtful: "\(.*\)"/\1/p' "$file") |"
    else
      echo "| $name | not simulated: by our account it does not fit in memory, or the schedule cannot split its layers |"
    fi
  done
}

sizes() {
  echo '| effect | dense transformers | other models |'
  echo '| --- | --- | --- |'
  awk -F, 'NR > 1 && $1 !~ / end$/ {printf "| %s | %s | %.1f |\n", $1, $1 == "kind" ? "" : sprintf("%.1f", 100 * $2), 100 * $3}' hardware/calibration/intervals.csv
}

held() {
  awk -F, '
    function flush() {if (n_groups) printf "| by %s | %d | %.1f %% | %d | %d | %s |\n", by, runs, 100 * inside, n_groups, n_hold, misses}
    $2 == "left_out" {next}
    $3 == "all" {flush(); by = $2 == "blind" ? "source, blind runs" : $2; runs = $4; inside = $5; n_groups = n_hold = 0; misses = ""; next}
    {n_groups++; n_hold += $7; if (!$7) misses = misses (misses ? ", " : "") $3 " (" $4 ", " sprintf("%.0f", 100 * $5) " %)"}
    END {flush()}' hardware/calibration/held-intervals.csv
}

compared() {
  awk -F, 'NR > 1 {
    printf "| %s | %s | %+.1f %% | %s |\n", $1, $2, 100 * $3, $4
  }' hardware/calibration/compared.csv
}

worst() {
  awk -F, 'NR > 1 {e = 1 / $15 - 1; if (e > 0.1 || e < -0.1) printf "%s\t%+.1f\t%s\n", $1, 100 * e, $3}' "$table" |
    sort -t'	' -k1,1 | awk -F'\t' '{print "| " $1 " | " $3 " | " $2 " % |"}'
}

page() {
  local unpredicted
  unpredicted=$(awk -F, 'NR > 1 && $8 == ""' "$blind_table" | wc -l)
  cat <<'TEXT'
# Accuracy

`make docs-accuracy` writes this page from `hardware/calibration/blind.csv` and `residuals.csv`: do not edit it. Every error is that of the
step time, and a minus means that the prediction was too fast.

## Predicted blind

These runs were predicted by the version that the table names, before anybody compared it with them. That is what to expect of a machine, a
framework or a model that is new to tsim. The configurations are drafts: where a source leaves something open, a guess was made, and none was
mended after its error was known. A row is never changed afterwards (`tools/blind.py` only adds), so that what is learnt from these runs later cannot be
mistaken for foresight.
TEXT
  blind_by runs '"all"'
  blind_by kind kind
  blind_by accelerator accelerator
  blind_by accelerators 'accelerators < 9 ? "1#up to 8" : accelerators < 65 ? "2#9 to 64" : accelerators < 513 ? "3#65 to 512" : "4#513 and more"'
  printf '\n%s more ran, although tsim predicted that they would not fit in memory.\n' "$unpredicted"
  cat <<'TEXT'

## In the repository

Each run below was published with its measured speed, and is simulated from a file in `scenarios/published` with one parameter set for each
accelerator and none for each case. Rows that are marked doubtful in their files are left out and listed at the end.

```sh
build/tsim validate scenarios/published/*.yaml
build/tsim validate scenarios/published/korthikanti-*.yaml --residuals
```

![Predicted against measured step time](accuracy.svg)

"Within the interval": `tsim run` prints an interval around each step time; here each run's is made from all *other* sources.
[Below](#how-wide-an-interval-is) is how, and what it holds. It knows only what went wrong before, and these runs were worked on, so it is optimistic.

So is the error. Where these runs were far off, their recipes and the code of their software were read again, and what was missing
was built: that is how models get better, and on the runs that led to it. Rates were fitted on some of them
([how much that is worth](#does-a-parameter-transfer)). Expect more of runs from sources that are not here: of the last 85 that joined,
other sizes and longer sequences from a source that was here, the 83 that are not doubtful were 3.2 % off when they were first
predicted, half of them less than 2.3 %. Among 17 runs of NeMo with up to a million tokens, longer than any before, the nine on H100 were 3.3 %
off at first; the eight on B200 12 %, six of them 11 to 18 % too fast. Ten runs of
IBM's fully sharded PyTorch, the first of that source and that code, were 4 % off at first, half of them less than 2.4.
Thirteen runs of Megatron's papers of 2021 and 2022, whose other sizes were here, of 3.6 B to a trillion parameters on 64 to 3,072 A100s, were
2.3 % off, none more than 4.7; five of Pythia, the first of GPT-NeoX, 9.9 %;
two of Hugging Face's Trainer, 7.2 %. Another 22, of NVIDIA's software of 2025 and 2026, were 4.0 % off: six dense models on H100
2.3, Grok on H100 9.3, on 128 to 512 GB200 2.1, and two sources of their own on B200, 8B and 15B, 5.4. Five of JAX on H100 were 11 % off
as first assumed and 2.1 with what their recipe says. Twelve of NVIDIA's submissions to MLPerf, Llama 3.1 405B on 512 to 8,192 H100, 256 to 5,120
GB200 and 512 GB300 and GPT-3 on 10,752 H100, were predicted before their results were read: 4.1 % too fast, none more than 8. Among 18 dense models on GB200 that are
[compared and not scored](#compared-not-scored) the error is 5.9; scored, they would make the mean of all 3.54 in place of 3.48.
Forty-nine of BLOOM's runs, known for long and left out, joined when logs of their machine suggested in what state it was: 3.2 %.

## How wide an interval is

The logarithm of measured over predicted is taken to be a sum of effects, each of which a run shares with others: those of the vendor, the accelerator (in its
class of precision, for its kind of model), the software (for its kind of model; with its splits), the kind of model, the model, who measured, an estimated rate, and one for each doubling of
accelerators and sequence. Such a mixed model (random effects) says how far off a run may be of which some of this was measured and some was not: an effect that nobody
measured adds its whole variance, one that many sources measured hardly any. Effects of the accelerator, the model and the source
move the interval, too; the mean of the others only widens it, for runs of sources that were left out are met no better when moved by it.

The sizes of the effects (restricted maximum likelihood) are told from the runs below and the blind ones above together, for dense transformers and for other models apart, in
percent of the step time:

TEXT
  sizes
  cat <<'TEXT'

The ends of the 90 % are set by leaving out whole sources and whole accelerators, not single runs: their 5 % and 95 % quantiles, a group of n runs weighing as the root of n, and no wider
than holds 95 % of the runs; for models other than dense transformers, which few sources measured, the blind runs count, too. A group holds where at least 85 % of its runs
are inside, or where so many outside would come about by chance in more than one of ten such groups, which is what a few runs can tell. Each source of blind runs is judged with all fitted again without it and
without its runs among those in the repository.

| left out | runs | inside | groups | of which hold | do not hold (runs, inside) |
| --- | --- | --- | --- | --- | --- |
TEXT
  held
  cat <<'TEXT'

**New sources fall outside more often than one in ten**, as the last line says: errors of runs that were looked at are smaller than of runs that were not, and a machine that is slower than its siblings is no more
than one of many to this model.

## All, by source, by accelerator
TEXT
  headline
  by source source
  by accelerator accelerator
  by 'source, accelerator' 'source ", " accelerator'
  printf '\n## By cause\n\nA systematic error would show in these.\n'
  by 'micro-batch' 'range(micro_batch, 2, 4, 8)'
  by 'hidden size' 'range(hidden, 4096, 8192, 12288)'
  by 'tensor degree' '(tensor < 2 ? "1#1" : tensor < 4 ? "2#2" : tensor < 8 ? "3#4" : "4#8 and more")'
  by 'pipeline stages' '(pipeline < 2 ? "1#1" : range(pipeline, 2, 4, 8))'
  by accelerators 'range(accelerators, 9, 65, 513)'
  by precision precision
  by sharding '(zero3 ? "parameters sharded (ZeRO-3)" : "parameters whole")'
  by model model
  by 'software profile' software
  memory
  cat <<'TEXT'

## Runs off by more than ten per cent

| run | accelerator | error |
| --- | --- | --- |
TEXT
  worst
  printf '\nThese reasons are known:\n\n'
  cat tools/accuracy_remarks.md
  echo
  cat <<'TEXT'
## Runs left out

| run | why |
| --- | --- |
TEXT
  unscored
  cat <<'TEXT'

## Compared, not scored

Seven kinds of runs (`scenarios/compared`), of which no interval is made.

Llama 3.1 405B and Nemotron 4 340B on 128 to 512 GB200 with four tensor ranks, from the container of April 2025 that was the first for that machine. Its
notes list errors of the buffers that overlap tensor-parallel traffic with products, and later code of the same software turns the overlap
off on large jobs there, so whether these runs had it is not known; they are predicted without. They are 1 to 11 % too fast, 405B more than 340B and bf16
more than fp8. GB200's bf16 rate is an estimate; these steps would ask for a tenth less, but Grok's from the same container (scored) would not.

Mixtures of experts on Blackwell that Megatron-Bridge published from release 25.11 to 26.06. Their plans
are stated; what is recomputed, captured in CUDA graphs and overlapped is not and changed from release to release, so they are not scored.
Recipes of about that time say the rest, and nothing was changed for them but this: that those of 26.06
put exchanges under the kernels of other micro-batches was read after a comparison without (16 to 21 % too slow). The same plan took up
to 1.6 times as long in one release as in another: with Qwen3 30B's experts of 768, what software does around small products
filled a fifth of the step until 26.04.

torchtitan's runs of December 2024 beyond fully sharded data parallelism, whose pieces PyTorch had just got: **these are 8 to 61 % slower
than predicted**, and the intervals that `tsim run` prints for such plans of torchtitan are too narrow. Tensor parallelism is 8 % off;
asynchronous, it gained 6 % where hiding its traffic would gain 18. Sequences of 32k tokens without context parallelism are 18 % off,
with two ranks 12, with four and eight 52 and 59: in Megatron the same model with two ranks is met within 3 % (nemo-8b-h100-8-104), and
Llama 2 7B with 2 to 32, so it is how this software splits attention that is not modelled. Pipelines of fully sharded stages are 19 to
25 % off, and keep up to twice the memory that is predicted.

The fastest plans of four models on 1 to 32 nodes of H100s with nanotron, each the best of dozens that were run for a few steps. One number of that software, its
host's time for an operator, is from the same table; [tsim's order of all 1,419 plans](plans.md#fourteen-hundred-measured-plans) is
beside them. They are not scored because runs of one plan differ by factors there; these, the fastest, differ least.

Llama 3.1 8B on eight MI300X, of January 2026, was predicted with that machine's products, attention and copies as they were measured
alone, before it was looked at. Its precision is inferred, so it is not scored. Nor is AMD's own submission of that model to MLPerf on eight
MI355X, 13 % too slow: that part's rates are told from MI300X's, and whether its attention ran in fp8 is not stated.

Llama 3.1 8B as NVIDIA submitted it to MLPerf, on 8 GB200 and GB300 in NVFP4 within 5 %, on 72 GB300 in fp8 8 % too fast, on 512, an eighth of a
sequence and half of each layer on a GPU, 36 %: kernels of some 5 us follow each other there, and gradients of 4 B parameters are reduced over 256 ranks
in the time of 2,000 tokens. Without the large buckets that its configuration sets, and the profile does not, 9 % too fast: the network's
latency for 30 small buckets, which is not what it waited for. Their configurations are at hand in part, so they are not scored.

Llama 3 70B in fp8 with JAX (MaxText) on 128 to 2,048 H100. In bf16 the same plans are scored and met within 3 %; in fp8 they are 8 to 12 % too
slow. How XLA joins casts, transposed copies and the search for the largest value with the kernels around them is not known. They ask for
the rate that long products reach alone (0.70 of the peak, where a layer's products suggest 0.67), as Transformer Engine's runs of the same
model do, and those of models with shorter products do not. Scored, they would make the mean of all 3.53.

```sh
build/tsim validate scenarios/compared/*.yaml
```

| run | accelerator | error | within the interval |
| --- | --- | --- | --- |
TEXT
  compared
  cat <<'TEXT'

## Does a parameter transfer?

The sustained matrix rate of Trainium, what the host takes for an operator, and that collectives take twice their compute units from
the products beside them come from step times of other runs of the same kinds, which is said beside each value. A100s of 40 GB have the
80 GB part's rate, 0.82, times what one suite's products reach on both, 0.767. B200's fp8 rate (0.51) lies between what two products say, 0.48 and
0.54, where step times put it.
Everything else comes from kernels, collectives, papers and datasheets.

The sustained rates of matrix products are those of products alone (H100, V100, GB200 and GB300 in fp8) and of single layers (A100 of 80 GB; that of 40 GB
is told from it and a ratio of products); on step times was fitted that of Trainium. How much of the accuracy
above comes from fitting, and how far is what was measured alone from what steps would say? Here each source is
predicted with the rate that all other sources give (the median of their errors becomes zero), as somebody's runs are that nobody has
fitted on; the last column has the same runs with the catalogue's rate. `make docs-accuracy` computes it (`tools/transfer.py`).

| products | sources | runs | rates | error | bias | with the catalogue's rate |
| --- | --- | --- | --- | --- | --- | --- |
TEXT
  awk -F, 'NR > 1 {
    printf "| %s | %d | %d | %.3f to %.3f | %.1f %% | %+.1f %% | %.1f %% |\n", $1, $2, $3, $4, $5, 100 * $6, 100 * $7, 100 * $8
  }' hardware/calibration/held-out.csv
  cat <<'TEXT'

And with the runs of one source alone, of all that have three, which predict those of all others:

| products | fitted on | its runs | sustained rate | error on them | others' runs | error on those | bias | with the catalogue's rate |
| --- | --- | --- | --- | --- | --- | --- | --- | --- |
TEXT
  awk -F, 'NR > 1 {
    printf "| %s | %s | %d | %.3f | %.1f %% | %d | %.1f %% | %+.1f %% | %.1f %% |\n", $1, $2, $3, $4, 100 * $5, $6, 100 * $7,
      100 * $8, 100 * $9
  }' hardware/calibration/transfer.csv
  cat <<'TEXT'

## Beside others

Errors of other tools, as reported for them: their rows are not all the ones above, so this is no ranking.

| tool | rows | mean error |
| --- | --- | --- |
| best analytic tool | its own eight calibration rows | 3.65 % |
| the same | multi-node runs published by others | 15 % (median 9.7 %) |
| the same | small models on one node | 39 % |
| another analytic tool | published runs | 13 to 31 % |
| two papers with kernel traces from the GPU itself | their own | 8.4 % and 14.7 % |
TEXT
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

case ${1-} in
--readme) readme ;;
--picture) picture ;;
--write)
  page >docs/accuracy.md.next && mv docs/accuracy.md.next docs/accuracy.md
  picture >docs/accuracy.svg
  readme | awk 'NR == FNR {line[NR] = $0; n = NR; next} /^<!-- .accuracy -->/ {inside = 0} !inside
    /^<!-- accuracy -->/ {inside = 1; for (i = 1; i <= n; i++) print line[i]}' - README.md >README.next && mv README.next README.md
  ;;
*) page ;;
esac
