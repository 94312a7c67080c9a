/* Launch scripts: words, quotes, expansions, conditions, and where in the file each word was written. Expected words
 * are what bash 5.2 gives for the same text. */
#include "import/launches/shell.h"
#include "support/arena_rig.h"

#include <string.h>

static struct tsim_shell_script script_of(const char *text) {
    struct tsim_shell_script script = {.commands = NULL};
    size_t offset;
    const char *message;
    enum tsim_status status = tsim_shell_read(&arena, text, strlen(text), NULL, &script, &offset, &message);
    ck_assert_msg(status == TSIM_OK, "%s at %zu", message, offset);
    return script;
}

static const char *beside(void *context, struct tsim_arena *a, const char *path, size_t *size) {
    (void)context;
    (void)a;
    static const char TEXT[] = "export TP=4\nLAYERS=$((TP * 8))";
    *size = strlen(TEXT);
    return strcmp(path, "./env.sh") == 0 ? TEXT : NULL;
}

/* Returns the commands' words in brackets, and commands separated by '/'. */
static const char *words_of(const char *text) {
    struct tsim_shell_script script = script_of(text);
    const char *all = "";
    for (size_t i = 0; i < script.n_commands; i++) {
        all = tsim_arena_printf(&arena, "%s%s", all, i > 0 ? "/" : "");
        for (size_t j = 0; j < script.commands[i].n_words; j++)
            all = tsim_arena_printf(&arena, "%s[%s]", all, script.commands[i].words[j].text);
    }
    return all;
}

/* Arguments, environment and files beside the script. A missing value is named by what would have set it. */
TSIM_TEST(what_comes_from_outside) {
    static const char *const ARGUMENTS[] = {"8", "x y"}, *const ENVIRONMENT[] = {"NODES=4", "EMPTY="};
    static const struct tsim_shell_outside OUTSIDE = {ARGUMENTS, 2, ENVIRONMENT, 2, beside, NULL};
    static const char TEXT[] = "source ./env.sh\n. ../none.sh\nN=$1\nQ=$3\nR=${Q}\nS=$(hostname)\nT=$((GPUS * 2))\n"
                               "while [ $# -gt 1 ]; do shift; done\nrun $N \"$1\" $NODES ${EMPTY:-e} $TP $LAYERS";
    struct tsim_shell_script script = {.commands = NULL};
    size_t offset;
    const char *message;
    ck_assert_int_eq(tsim_shell_read(&arena, TEXT, strlen(TEXT), &OUTSIDE, &script, &offset, &message), TSIM_OK);
    static const char *const WORDS[] = {"run", "8", "x y", "4", "e", "4", "32"};
    const struct tsim_shell_command *command = &script.commands[script.n_commands - 1];
    ck_assert_uint_eq(command->n_words, 7);
    for (size_t i = 0; i < 7; i++)
        ck_assert_str_eq(command->words[i].text, WORDS[i]);
    ck_assert_uint_lt(command->words[2].start, strlen(TEXT)); /* where it is expanded */
    ck_assert_int_eq(TEXT[command->words[2].start], '$');
    ck_assert_str_eq(script.unread, "../none.sh");
    static const char *const LOST[][2] = {
        {"Q", "$3"}, {"R", "$3"}, {"S", "$(hostname)"}, {"GPUS", "$GPUS"}, {"T", "$GPUS"}};
    ck_assert_uint_eq(script.n_lost, 5);
    for (size_t i = 0; i < 5; i++) {
        ck_assert_str_eq(script.lost[i].name, LOST[i][0]);
        ck_assert_str_eq(script.lost[i].from, LOST[i][1]);
    }
}

static const struct {
    const char *text, *words;
} CASES[] = {
    {"a 'b c' \"d e\" f\\ g", "[a][b c][d e][f g]"},
    {"a \\\n  b # not this\nc;d && e | f &", "[a][b]/[c]/[d]/[e]/[f]"},
    {"A=1\necho $A ${A} \"$A\" '$A' x${A}y $B z", "[echo][1][1][1][$A][x1y][z]"},
    {"A='p q'\necho $A \"$A\"", "[echo][p][q][p q]"},
    {"A=(x 'y z' # no\n $B w)\necho ${A[@]} / \"${A[@]}\" ${A}", "[echo][x][y][z][w][/][x][y z][w][x]"},
    {"A=(x)\nA+=(y)\nB=p\nB+=q\necho ${A[@]} $B", "[echo][x][y][pq]"},
    {"echo ${A:-d} ${A-\"e f\"} ${A:+no} ${A:-${B:-g}}", "[echo][d][e f][g]"},
    {"A=(5 6 7 8)\nI=1\necho ${A[1]} ${A[-1]} ${A[$I]} ${A[I+1]} ${A[@]:1:2} ${#A[@]} ${A[9]:-no}",
     "[echo][6][8][6][7][6][7][4][no]"},
    {"declare -A L=([7b]=32 [\"13b\"]='4 0')\nL[70b]=80\nK=70b\necho ${L[7b]} \"${L[13b]}\" ${L[$K]} ${L[1b]:-0} "
     "${#L[@]} ${!L[@]}",
     "[echo][32][4 0][80][0][3][7b][13b][70b]"},
    {"S=llama-7b-chat\necho ${#S} ${S#*-} ${S##*-} ${S%-*} ${S%%-*} ${S#x} ${S/-/_} ${S//-/_} ${S/#llama/q} "
     "${S/%chat/it}",
     "[echo][13][7b-chat][chat][llama-7b][llama][llama-7b-chat][llama_7b-chat][llama_7b_chat][q-7b-chat][llama-7b-it]"},
    {"S=Llama\nN=S\necho ${S,,} ${S^^} ${S:0:2} ${S: -2} ${S:3} ${!N}", "[echo][llama][LLAMA][Ll][ma][ma][Llama]"},
    {"set -- --m=one two three\necho ${1#--m=} ${@:2} ${@:1:1} ${#}", "[echo][one][two][three][--m=one][3]"},
    {"A=3\necho $((A*2 + 1)) $(($A*(2+${A}))) $((7/2)) $((-7%4)) $((1/0))", "[echo][7][15][3][-3][0]"},
    {"A=-9223372036854775808\necho $((-A))", "[echo][-9223372036854775808]"},
    {"export A=1 B=\"2 3\"\necho $A $B", "[echo][1][2][3]"},
    {"declare -a A=(--x 1 \\\n --y 2 \\\n)\nrun \"${A[@]}\"", "[run][--x][1][--y][2]"},
    {"declare -ri N=4 M\nrun $N$M", "[run][4]"},
    {"for kv in A=1 B=2; do export \"$kv\"; done; run $A$B", "[run][12]"},
    {"run $((1<<12)) $(( 3 > 1 ? 10 : 20 )) $((2**10)) $(( 7 & 3 | 8 )) $((!0 && 1))", "[run][4096][10][1024][11][1]"},
    {"run $(( 1 + 2 * 3 == 7 )) $((5 >= 6 || 0)) $(( (8/2) % 3 )) $((0-1)) $((-1 ** 3))", "[run][1][0][1][-1][-1]"},
    {"go() { local n=$1; run --n $n; }\ngo 4", "[run][--n][4]"},
    {"function go {\n  run $2 ${V}\n}\nV=x go 1 2\ngo 1 2", "[run][2][x]/[run][2]"},
    {"go() {\n  run\n}\necho go", "[echo][go]/[run]"},
    {"never() { run 1; }", "[never]/[run][1]"},
    {"K=TP V=8\nexport \"$K\"=\"$V\"; run $TP", "[run][8]"},
    /* commands that only say what they are given, and loops */
    {"A=8\necho $(echo $A x) $(expr $A \\* 4) $(echo \"$A*2\" | bc) $(printf '%02d-%s' 7 z)",
     "[echo][8][x][32][16][07-z]"},
    {"printf -v N 'a%03d' 5\necho $N", "[echo][a005]"},
    {": ${A:=3}\necho $A", "[:][3]/[echo][3]"},
    {"A=()\nfor i in 1 2 3; do A+=($i); run $i; done\necho ${A[@]}", "[run][1]/[echo][1][2][3]"},
    {"S=0\nfor i in $(seq 2 4) {8..9}; do S=$((S + i)); done\necho $S", "[echo][26]"},
    {"S=x\nfor ((i = 0; i < 3; i++)); do S=$S$i; done\necho $S $i", "[echo][x012][3]"},
    {"N=1\nwhile [ $N -lt 100 ]; do N=$((N * 2)); if [ $N -eq 16 ]; then break; fi; done\necho $N", "[echo][16]"},
    {"for a in 1 2; do for b in 3 4; do X+=$a$b,; done; done\necho $X", "[echo][13,14,23,24,]"},
    {"until [ $# -eq 0 ]; do shift; done; echo $#", "[echo][0]"},
    {"set -- a b\nwhile (( \"$#\" )); do X+=$1; shift; done; echo $X $(($# + 1))", "[echo][ab][1]"},
    {"while true; do X+=1; done\necho end", "[echo][end]"},
    /* These are tests in front of && and ||. */
    {"A=1\n[ -z \"$A\" ] && A=2\n[[ $A == 1 ]] || A=3\necho $A", "[echo][1]"},
    {"[ a = b ] && A=1 || A=2\necho $A", "[echo][2]"},
    {"[ a = a ] && A=1 || A=2\necho $A", "[echo][1]"},
    {"cd x || exit 1\nmkdir y && a", "[cd][x]/[mkdir][y]/[a]"},
    /* bash -c is given it, and set */
    {"bash -c 'run $1 \"$@\"' name p 'q r'", "[run][p][p][q r]"},
    {"set -- a 'b c' d\nshift\necho $# $1 \"${2}\" ${@:2} ${3:-none}", "[echo][2][b][c][d][d][none]"},
    {"echo $(ls -l | grep \")\") `pwd`/x $1 \"$2\" $#", "[echo][/x][][0]"},
    {"cat <<EOT > f\n--not $A\n  EOT\nEOT\necho b", "[cat]/[echo][b]"},
    /* a shell or sbatch is given a script, expanded first where its end's word is not quoted */
    {"A=1\nsbatch <<EOF\n#SBATCH -N 4\nrun $A \\$SLURM_NNODES\nEOF\nb", "[sbatch]/[run][1][4]/[b]/[sbatch][-N][4]"},
    {"A=1\ncat <<'E' | bash -s\nA=2\nrun \"$A b\"\nE\necho $A", "[cat]/[bash][-s]/[run][2 b]/[echo][2]"},
    {"cat > job <<-'E'\n\t#!/bin/bash\n\trun a\n\tE\nb", "[cat]/[b]"}, /* not the first characters */
    {"cat > job <<'E'\n#!/bin/bash\nrun a\nE\nb", "[cat]/[run][a]/[b]"},
    {"if false; then\nsbatch <<E\nrun a\nE\nfi\nb", "[b]"},
    {"bash -lc \"a 'b c'; d\" e", "[a][b c]/[d]"},
    {"N=3\nC=\"run \\$N 'x y'\"\nsrun -n 2 bash -c \"$C\"\neval $C z", "[srun][-n][2][run][3][x y]/[run][3][x y][z]"},
    {"read -r -d '' C <<E\nrun \\\\\n a\nE\nbash -c \"$C\"", "[read][-r][-d][][C]/[run][a]"},
    {"N=1\nC=$(cat <<E\nrun $N\nE\n)\neval \"$C\"; $C $(cat x)", "[run][1]/[run][1]"},
    {"C=\"$(cat <<'E'\nrun $N ( )\nE\n)\"\necho \"$C\"", "[echo][run $N ( )]"},
    {"python <<E\nrun a\nE\nb", "[python]/[b]"},
    {"a 2>&1 > out b 3< in", "[a][b]"},
    {"if [ x = y ]; then a; elif [[ 2 -gt 1 && -n z ]]; then b; else c; fi; d", "[b]/[d]"},
    {"if [ -n \"$Q\" ] || [ 1 -eq 2 ]\nthen\n a\nelse\n b\nfi", "[b]"},
    {"if ! [ -z \"\" ]; then a; fi; if (( 2 > 1 )); then b; fi", "[b]"},
    {"X=fp8\ncase $X in\n bf16) a;;\n fp*|q) b\n  c ;;\n *) d;;\nesac\ne", "[b]/[c]/[e]"},
    {"for i in 4 5; do echo $i; done; while [ 1 -eq 2 ]; do b; done", "[echo][4]"},
    {"f() { echo x; }\ng", "[f]/[echo][x]/[g]"},
    {"#SBATCH --nodes=4 # four\n#SBATCH -N 5\nA=$SLURM_NNODES\necho $A", "[echo][5]/[sbatch][--nodes=4][-N][5]"},
    {"#SBATCH -N4 --gres gpu:8\n#SBATCH --ntasks-per-node 2\necho $SLURM_NNODES $SLURM_GPUS_ON_NODE "
     "$SLURM_NTASKS_PER_NODE",
     "[echo][4][8][2]/[sbatch][-N4][--gres][gpu:8][--ntasks-per-node][2]"},
    {"#SBATCH --gres=gpu:a100:8\necho $SLURM_GPUS_ON_NODE", "[echo][8]/[sbatch][--gres=gpu:a100:8]"},
    {"O=\" \\\n --a 1 \\\n --b 2 \"\necho $O", "[echo][--a][1][--b][2]"},
    {"A=1 run $A", "[run][1]"},
    {"if [[ ${Q} != \"slurm\" ]]; then a; fi; [[ $Q == x ]] || b", "[a]/[b]"}, /* words may be empty */
    {"", ""},
};

TSIM_TEST_ROWS(words_are_a_shell_s, CASES) {
    ck_assert_str_eq(words_of(CASES[_i].text), CASES[_i].words);
}

/* NAME=VALUE in front of a command is for that command alone. */
TSIM_TEST(each_command_has_its_environment) {
    const struct tsim_shell_script script = script_of("export A=1\na\nA=2 B=3 b\nc\nA=4\nd\n");
    static const char *const OF_A[] = {"1", "2", "1", "4"};
    ck_assert_uint_eq(script.n_commands, 4);
    for (size_t i = 0; i < 4; i++) {
        ck_assert_str_eq(tsim_shell_value_of(&script, "A", i)->word.text, OF_A[i]);
        ck_assert_int_eq(tsim_shell_value_of(&script, "B", i) != NULL, i == 1);
    }
}

/* "7" is written at offset 2 of "N=7 ...", whatever it went through. */
TSIM_TEST(words_know_where_they_were_written) {
    const char *text = "N=7\nA=(--num-layers $N)\nO=\"--a ${A[@]}\"\nrun $O";
    struct tsim_shell_script script = script_of(text);
    const struct tsim_shell_command *run = &script.commands[0];
    ck_assert_uint_eq(run->n_words, 4);
    ck_assert_str_eq(run->words[3].text, "7");
    ck_assert_uint_eq(run->words[3].start, 2);
    ck_assert_uint_eq(run->words[2].start, (size_t)(strstr(text, "--num") - text));
    ck_assert_uint_eq(run->words[1].start, (size_t)(strstr(text, "--a") - text));
}

TSIM_TEST(conditions_on_files_cannot_be_told) {
    struct tsim_shell_script script = script_of("if [ -f x ]; then a; else b; fi");
    ck_assert_uint_eq(script.n_commands, 1);
    ck_assert_str_eq(script.commands[0].words[0].text, "b");
    ck_assert_ptr_nonnull(strstr(script.undecided, "-f"));
}

static const struct {
    const char *text;
    enum tsim_status status;
    size_t offset;
} MISTAKES[] = {{"a 'b", TSIM_ERR_SYNTAX, 2},  {"a \"b", TSIM_ERR_SYNTAX, 2},  {"ab $(c", TSIM_ERR_SYNTAX, 3},
                {"a ${b", TSIM_ERR_SYNTAX, 2}, {"A=(b c", TSIM_ERR_SYNTAX, 2}, {"a `b", TSIM_ERR_SYNTAX, 2}};

TSIM_TEST_ROWS(what_does_not_end_is_an_error, MISTAKES) {
    struct tsim_shell_script script;
    size_t offset;
    const char *message;
    ck_assert_int_eq(
        tsim_shell_read(&arena, MISTAKES[_i].text, strlen(MISTAKES[_i].text), NULL, &script, &offset, &message),
        MISTAKES[_i].status);
    ck_assert_uint_eq(offset, MISTAKES[_i].offset);
}

/* An argument that three variables handed on, and one in a here-document, still know their places. */
TSIM_TEST(words_of_inner_shells_know_where_they_were_written) {
    const char *text = "A='--a 1'\nB=\"run $A\"\nbash <<E\neval $B --b\nE\n";
    struct tsim_shell_script script = script_of(text);
    const struct tsim_shell_command *run = &script.commands[1];
    ck_assert_uint_eq(run->n_words, 4);
    ck_assert_uint_eq(run->words[1].start, (size_t)(strstr(text, "--a") - text));
    ck_assert_uint_eq(run->words[3].start, (size_t)(strstr(text, "--b") - text));
}

TSIM_TEST(inner_shells_are_bounded) {
    struct tsim_shell_script script;
    size_t offset;
    const char *message, *text = "A='eval $A $A'\neval $A";
    ck_assert_int_eq(tsim_shell_read(&arena, text, strlen(text), NULL, &script, &offset, &message), TSIM_ERR_LIMIT);
}

/* Each line doubles the text: 2^30 characters in the end. */
TSIM_TEST(expansions_are_bounded) {
    const char *text = "A0=xxxxxxxxxxxxxxxx\n";
    for (int i = 1; i < 30; i++)
        text = tsim_arena_printf(&arena, "%sA%d=\"$A%d $A%d\"\n", text, i, i - 1, i - 1);
    struct tsim_shell_script script;
    size_t offset;
    const char *message;
    ck_assert_int_eq(tsim_shell_read(&arena, text, strlen(text), NULL, &script, &offset, &message), TSIM_ERR_LIMIT);
    const char *deep = "echo ";
    for (int i = 0; i < 100; i++)
        deep = tsim_arena_printf(&arena, "%s${A:-", deep);
    for (int i = 0; i < 100; i++)
        deep = tsim_arena_printf(&arena, "%s}", deep);
    ck_assert_int_eq(tsim_shell_read(&arena, deep, strlen(deep), NULL, &script, &offset, &message), TSIM_ERR_LIMIT);
}

TSIM_MAIN(CHECKS_LIMIT_S, set_up, tear_down)
