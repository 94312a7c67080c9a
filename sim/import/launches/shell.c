#include "import/launches/shell_words.h"

#include <fnmatch.h>
#include <stdlib.h>
#include <string.h>

enum { MOST_FRAMES = 64, MOST_HEREDOCS = 8, MOST_INNER = 8, UNDECIDED = -1 };

enum frame_kind { FRAME_IF, FRAME_LOOP, FRAME_CASE };
struct frame {
    enum frame_kind kind;
    bool is_active, was_taken;
    bool wants_pattern;  /* of a case */
    const char *subject; /* the same */
};

struct heredoc { /* announced on the line that is read */
    struct tsim_shell_document document;
    size_t first_command; /* of its line */
};

struct list { /* of words, on the heap */
    struct tsim_shell_word *words;
    size_t n, capacity;
};

struct reader {
    struct tsim_shell s;
    struct list command, condition, assigned, slurm;
    struct tsim_shell_command *commands; /* heap */
    size_t n_commands, commands_capacity;
    struct frame frames[MOST_FRAMES];
    size_t n_frames;
    bool in_condition; /* between `if` and `then`, `while` and `do` */
    struct heredoc heredocs[MOST_HEREDOCS];
    size_t n_heredocs;
    struct list before; /* words in front of each command: "srun -N 2" of srun -N 2 bash -c "..." */
    int n_inner;        /* shells within the script that are being read */
    const char *undecided;
};

static void read_item(struct reader *r);
static void end_command(struct reader *r);

/* ---- lists ---- */

static void append(struct list *list, struct tsim_shell_word word) {
    list->words = tsim_heap_grow(list->words, &list->capacity, list->n + 1, sizeof *list->words);
    list->words[list->n++] = word;
}

static struct tsim_shell_word *kept(struct tsim_arena *arena, const struct tsim_shell_word *words, size_t n) {
    struct tsim_shell_word *copy = TSIM_NEW_ARRAY(arena, n, struct tsim_shell_word);
    if (n > 0)
        memcpy(copy, words, n * sizeof *copy);
    return copy;
}

static bool is_active(const struct reader *r) {
    for (size_t i = 0; i < r->n_frames; i++)
        if (!r->frames[i].is_active)
            return false;
    return true;
}

static struct tsim_shell_word token(struct reader *r, const char *text) {
    static const uint32_t NOWHERE[4] = {0};
    return (struct tsim_shell_word){text, NOWHERE, tsim_shell_place(&r->s, r->s.pos)};
}

static bool is_one_of(const char *text, const char *const *words) {
    for (; *words; words++)
        if (strcmp(text, *words) == 0)
            return true;
    return false;
}

/* ---- commands, and the shells that they start ---- */

/* Reads a text as a shell that the script starts does; it sees the script's variables, exported or not. */
static void read_inner(struct reader *r, const char *text, size_t size, const uint32_t *at) {
    const struct tsim_shell outer = r->s;
    const size_t n_frames = r->n_frames, n_heredocs = r->n_heredocs;
    const bool in_condition = r->in_condition;
    if (r->n_inner == MOST_INNER) {
        tsim_shell_fail(&r->s, TSIM_ERR_LIMIT, r->s.pos, "shells within shells deeper than 8 levels");
        return;
    }
    r->n_inner++;
    r->n_heredocs = 0;
    r->in_condition = false;
    r->s.text = text, r->s.pos = 0, r->s.size = size, r->s.at = at;
    while (r->s.pos < r->s.size && r->s.status == TSIM_OK)
        read_item(r);
    end_command(r);
    r->s.text = outer.text, r->s.size = outer.size, r->s.at = outer.at;
    r->s.pos = r->s.status == TSIM_OK ? outer.pos : outer.size;
    r->n_frames = n_frames;
    r->n_heredocs = n_heredocs;
    r->in_condition = in_condition;
    r->n_inner--;
}

static bool is_shell(const char *word) {
    static const char *const SHELLS[] = {"bash", "sh", "zsh", "dash", "ksh", NULL};
    const char *slash = strrchr(word, '/');
    return is_one_of(slash ? slash + 1 : word, SHELLS);
}

/* Which word is the text of `bash -c TEXT`; 0: none. *n_before: how many words stand in front of the shell. */
static size_t inner_text(const struct tsim_shell_word *words, size_t n, size_t *n_before) {
    for (size_t i = 0; i < n; i++) {
        if (!is_shell(words[i].text))
            continue;
        for (size_t j = i + 1; j + 1 < n && words[j].text[0] == '-' && words[j].text[1] != '-'; j++)
            if (words[j].text[strlen(words[j].text) - 1] == 'c') {
                *n_before = i;
                return j + 1;
            }
    }
    return 0;
}

static struct tsim_shell_word joined(struct tsim_arena *arena, const struct tsim_shell_word *words, size_t n) {
    size_t size = 0, used = 0;
    for (size_t i = 0; i < n; i++)
        size += strlen(words[i].text) + 1;
    char *text = tsim_arena_alloc(arena, size + 1);
    uint32_t *at = TSIM_NEW_ARRAY(arena, size + 1, uint32_t);
    for (size_t i = 0; i < n; i++) {
        size_t length = strlen(words[i].text);
        memcpy(text + used, words[i].text, length);
        memcpy(at + used, words[i].at, length * sizeof *at);
        used += length;
        text[used] = ' ';
        at[used++] = words[i].start;
    }
    text[used] = '\0';
    return (struct tsim_shell_word){text, at, words[0].start};
}

static void add_command(struct reader *r, const struct tsim_shell_word *words, size_t n) {
    struct tsim_shell_word *all = TSIM_NEW_ARRAY(r->s.arena, r->before.n + n, struct tsim_shell_word);
    if (r->before.n > 0)
        memcpy(all, r->before.words, r->before.n * sizeof *all);
    memcpy(all + r->before.n, words, n * sizeof *all);
    r->commands = tsim_heap_grow(r->commands, &r->commands_capacity, r->n_commands + 1, sizeof *r->commands);
    r->commands[r->n_commands++] = (struct tsim_shell_command){all, r->before.n + n};
}

/* `eval TEXT...` and `bash -c TEXT` are the commands in the text. */
static void end_command(struct reader *r) {
    const size_t n = r->command.n, n_before = r->before.n;
    const struct tsim_shell_word *words = kept(r->s.arena, r->command.words, n);
    size_t n_own = 0, inner = inner_text(words, n, &n_own);
    r->command.n = 0;
    if (n == 0 || !is_active(r) || r->s.status != TSIM_OK)
        return;
    if (strcmp(words[0].text, "eval") == 0 && n > 1) {
        struct tsim_shell_word text = joined(r->s.arena, words + 1, n - 1);
        read_inner(r, text.text, strlen(text.text), text.at);
    } else if (inner > 0) {
        for (size_t i = 0; i < n_own; i++)
            append(&r->before, words[i]);
        read_inner(r, words[inner].text, strlen(words[inner].text), words[inner].at);
        r->before.n = n_before;
    } else {
        add_command(r, words, n);
    }
}

/* ---- conditions ---- */

static int compare_numbers(const char *a, const char *operation, const char *b) {
    static const char *const NAMES[] = {"-eq", "-ne", "-gt", "-lt", "-ge", "-le"};
    long long x = strtoll(a, NULL, 10), y = strtoll(b, NULL, 10);
    const bool results[] = {x == y, x != y, x > y, x < y, x >= y, x <= y};
    for (size_t i = 0; i < sizeof NAMES / sizeof NAMES[0]; i++)
        if (strcmp(operation, NAMES[i]) == 0)
            return results[i];
    return UNDECIDED;
}

static int test_of(const struct tsim_shell_word *w, size_t n) {
    if (n == 0)
        return UNDECIDED;
    if (strcmp(w[0].text, "!") == 0) {
        int result = test_of(w + 1, n - 1);
        return result == UNDECIDED ? UNDECIDED : !result;
    }
    if (n == 1)
        return strcmp(w[0].text, "false") == 0 ? 0 : w[0].text[0] != '\0';
    if (n == 2 && (strcmp(w[0].text, "-z") == 0 || strcmp(w[0].text, "-n") == 0))
        return (w[1].text[0] == '\0') == (w[0].text[1] == 'z');
    if (n != 3)
        return UNDECIDED;
    bool is_equal = strcmp(w[0].text, w[2].text) == 0 || fnmatch(w[2].text, w[0].text, 0) == 0;
    if (strcmp(w[1].text, "=") == 0 || strcmp(w[1].text, "==") == 0)
        return is_equal;
    if (strcmp(w[1].text, "!=") == 0)
        return !is_equal;
    return compare_numbers(w[0].text, w[1].text, w[2].text);
}

static int combine(int left, bool is_and, int right) {
    if (is_and)
        return left == 0 || right == 0 ? 0 : left == UNDECIDED ? left : right;
    return left == 1 || right == 1 ? 1 : left == UNDECIDED ? left : right;
}

/* Tests joined by && and ||, from left to right; brackets only set tests apart. */
static int condition_of(const struct list *list) {
    static const char *const BRACKETS[] = {"[", "[[", "]", "]]", "test", ";", "(", ")", NULL};
    static const char *const AND[] = {"&&", "-a", NULL}, *const OR[] = {"||", "-o", NULL};
    enum { MOST = 8 };
    struct tsim_shell_word test[MOST];
    size_t n = 0;
    bool is_and = true, has_bracket = false;
    int result = 1;
    for (size_t i = 0; i <= list->n; i++) {
        const char *text = i < list->n ? list->words[i].text : "&&";
        bool is_joint = i == list->n || is_one_of(text, AND) || is_one_of(text, OR);
        if (is_joint) {
            bool is_known =
                has_bracket || (n == 1 && (strcmp(test[0].text, "true") == 0 || strcmp(test[0].text, "false") == 0));
            result = combine(result, is_and, is_known && n <= MOST ? test_of(test, n) : UNDECIDED);
            is_and = is_one_of(text, AND);
            n = 0;
        } else if (is_one_of(text, BRACKETS)) {
            has_bracket |= text[0] == '[' || text[0] == 't';
        } else {
            if (n < MOST)
                test[n] = list->words[i];
            n = n < MOST ? n + 1 : n;
        }
    }
    return result;
}

static bool decide(struct reader *r) {
    int result = condition_of(&r->condition);
    if (result == UNDECIDED && is_active(r) && !r->undecided && r->condition.n > 0) {
        const char *text = "";
        for (size_t i = 0; i < r->condition.n && i < 8; i++)
            text = tsim_arena_printf(r->s.arena, "%s%s%.40s", text, i > 0 ? " " : "", r->condition.words[i].text);
        r->undecided = text;
    }
    r->condition.n = 0;
    return result == 1;
}

/* ---- keywords ---- */

static void push_frame(struct reader *r, enum frame_kind kind, bool is_active_then) {
    if (r->n_frames == MOST_FRAMES) {
        tsim_shell_fail(&r->s, TSIM_ERR_LIMIT, r->s.pos, "nested deeper than 64 levels");
        return;
    }
    r->frames[r->n_frames++] = (struct frame){.kind = kind, .is_active = is_active_then, .was_taken = is_active_then};
}

static struct frame *top(struct reader *r, enum frame_kind kind) {
    return r->n_frames > 0 && r->frames[r->n_frames - 1].kind == kind ? &r->frames[r->n_frames - 1] : NULL;
}

static void skip_to_word(struct tsim_shell *s) {
    for (;;) {
        while (s->pos < s->size && strchr(" \t\r\n", s->text[s->pos]))
            s->pos++;
        if (s->pos + 1 < s->size && s->text[s->pos] == '\\' && s->text[s->pos + 1] == '\n')
            s->pos += 2;
        else if (s->pos < s->size && s->text[s->pos] == '#')
            while (s->pos < s->size && s->text[s->pos] != '\n')
                s->pos++;
        else
            return;
    }
}

static const char *next_text(struct reader *r) {
    struct tsim_shell_fields f = {.never_splits = true};
    skip_to_word(&r->s);
    tsim_shell_read_word(&r->s, &f);
    const char *text = f.n_words > 0 ? f.words[0].text : "";
    tsim_shell_release_fields(&f);
    return text;
}

/* `for NAME in WORDS`: the body is read once, with the first word. */
static void begin_for(struct reader *r) {
    const char *name = next_text(r);
    struct tsim_shell_fields f = {.never_splits = false};
    if (*name && strcmp(next_text(r), "in") == 0) {
        while (r->s.pos < r->s.size && !strchr(";\n", r->s.text[r->s.pos]) && r->s.status == TSIM_OK) {
            size_t before = r->s.pos;
            tsim_shell_read_word(&r->s, &f);
            r->s.pos += r->s.pos == before;
        }
        if (f.n_words > 0 && is_active(r))
            tsim_shell_set(&r->s, name, kept(r->s.arena, f.words, 1), 1);
    }
    push_frame(r, FRAME_LOOP, f.n_words > 0 || !*name);
    tsim_shell_release_fields(&f);
}

static void begin_case(struct reader *r) {
    const char *subject = next_text(r);
    next_text(r); /* in */
    push_frame(r, FRAME_CASE, false);
    if (top(r, FRAME_CASE)) {
        top(r, FRAME_CASE)->wants_pattern = true;
        top(r, FRAME_CASE)->subject = subject;
    }
}

static void end_frame(struct reader *r, enum frame_kind kind) {
    if (top(r, kind))
        r->n_frames--;
}

static void on_then(struct reader *r) {
    struct frame *frame = top(r, FRAME_IF);
    r->in_condition = false;
    if (!frame)
        return;
    frame->is_active = !frame->was_taken && decide(r);
    frame->was_taken |= frame->is_active;
    r->condition.n = 0;
}

static void on_do(struct reader *r) {
    struct frame *frame = top(r, FRAME_LOOP);
    if (frame && r->in_condition)
        frame->is_active = decide(r);
    r->in_condition = false;
}

static void on_else(struct reader *r, bool is_elif) {
    struct frame *frame = top(r, FRAME_IF);
    if (!frame)
        return;
    frame->is_active = !is_elif && !frame->was_taken;
    r->in_condition = is_elif;
}

static void on_if(struct reader *r, enum frame_kind kind) {
    push_frame(r, kind, true); /* so that the condition's own expansions count */
    if (top(r, kind))
        top(r, kind)->was_taken = false;
    r->in_condition = true;
}

/* True when `word` was a keyword. */
static bool keyword(struct reader *r, const char *word) {
    static const char *const PASSED[] = {"{",       "}",       "time", "export", "local", "readonly",
                                         "declare", "typeset", "exec", "!",      "env",   NULL};
    if (strcmp(word, "if") == 0)
        on_if(r, FRAME_IF);
    else if (strcmp(word, "while") == 0 || strcmp(word, "until") == 0)
        on_if(r, FRAME_LOOP);
    else if (strcmp(word, "for") == 0)
        begin_for(r);
    else if (strcmp(word, "case") == 0)
        begin_case(r);
    else if (strcmp(word, "then") == 0)
        on_then(r);
    else if (strcmp(word, "do") == 0)
        on_do(r);
    else if (strcmp(word, "else") == 0 || strcmp(word, "elif") == 0)
        on_else(r, word[2] == 'i');
    else if (strcmp(word, "fi") == 0)
        end_frame(r, FRAME_IF);
    else if (strcmp(word, "done") == 0)
        end_frame(r, FRAME_LOOP);
    else if (strcmp(word, "esac") == 0)
        end_frame(r, FRAME_CASE);
    else
        return !r->in_condition && is_one_of(word, PASSED);
    return true;
}

/* At the beginning of a branch of a case: PATTERN | PATTERN). */
static void read_patterns(struct reader *r) {
    struct frame *frame = top(r, FRAME_CASE);
    struct tsim_shell *s = &r->s;
    bool is_match = false;
    for (skip_to_word(s); s->pos < s->size && s->text[s->pos] != ')'; skip_to_word(s)) {
        struct tsim_shell_fields f = {.never_splits = true};
        size_t before = s->pos;
        tsim_shell_read_word(s, &f);
        const char *pattern = f.n_words > 0 ? f.words[0].text : "";
        tsim_shell_release_fields(&f);
        if (strcmp(pattern, "esac") == 0) {
            end_frame(r, FRAME_CASE);
            return;
        }
        is_match |= s->pos > before && fnmatch(pattern, frame->subject, 0) == 0;
        s->pos += s->pos == before;
    }
    s->pos++;
    frame->wants_pattern = false;
    frame->is_active = is_match && !frame->was_taken;
    frame->was_taken |= frame->is_active;
}

/* ---- assignments ---- */

/* Characters of "NAME=", "NAME+=" or "NAME[...]=" at `pos`; 0: it is none. */
static size_t assignment_length(const struct tsim_shell *s) {
    const char *text = s->text + s->pos;
    size_t left = s->size - s->pos, n = 0;
    if (left == 0 || (text[0] >= '0' && text[0] <= '9'))
        return 0;
    while (n < left && ((text[n] >= 'a' && text[n] <= 'z') || (text[n] >= 'A' && text[n] <= 'Z') ||
                        (text[n] >= '0' && text[n] <= '9') || text[n] == '_'))
        n++;
    if (n == 0)
        return 0;
    if (n < left && text[n] == '[')
        while (n < left && text[n++] != ']')
            ;
    n += n + 1 < left && text[n] == '+' && text[n + 1] == '=';
    return n < left && text[n] == '=' ? n + 1 : 0;
}

static void read_array(struct reader *r, struct tsim_shell_fields *f) {
    struct tsim_shell *s = &r->s;
    size_t start = s->pos++;
    for (skip_to_word(s); s->pos < s->size && s->text[s->pos] != ')'; skip_to_word(s)) {
        size_t before = s->pos;
        tsim_shell_read_word(s, f);
        s->pos += s->pos == before;
    }
    if (s->pos >= s->size)
        tsim_shell_fail(s, TSIM_ERR_SYNTAX, start, "a list '(' that does not end");
    s->pos++;
}

static void store(struct reader *r, const char *name, bool is_appended, bool is_array,
                  const struct tsim_shell_fields *f) {
    const struct tsim_shell_variable *old = tsim_shell_get(&r->s, name, strlen(name));
    struct list words = {NULL, 0, 0};
    for (size_t i = 0; i < f->n_words; i++)
        append(&r->assigned, f->words[i]);
    for (size_t i = 0; is_appended && old && i < old->n_words; i++)
        append(&words, old->words[i]);
    if (!is_array && words.n > 0 && f->n_words > 0) { /* text behind text */
        struct tsim_shell_word *last = &words.words[0];
        const struct tsim_shell_word *more = &f->words[0];
        size_t n = strlen(last->text), m = strlen(more->text);
        uint32_t *at = TSIM_NEW_ARRAY(r->s.arena, n + m, uint32_t);
        memcpy(at, last->at, n * sizeof *at);
        memcpy(at + n, more->at, m * sizeof *at);
        *last =
            (struct tsim_shell_word){tsim_arena_printf(r->s.arena, "%s%s", last->text, more->text), at, last->start};
        r->s.n_expanded += n + m;
    } else {
        for (size_t i = 0; i < f->n_words; i++)
            append(&words, f->words[i]);
        r->s.n_expanded += words.n;
    }
    if (r->s.n_expanded > TSIM_SHELL_MAX_EXPANDED)
        tsim_shell_fail(&r->s, TSIM_ERR_LIMIT, r->s.pos, "more than 4 million characters once variables are expanded");
    tsim_shell_set(&r->s, name, kept(r->s.arena, words.words, words.n), words.n);
    tsim_heap_free(words.words);
}

static void read_assignment(struct reader *r, size_t length) {
    struct tsim_shell *s = &r->s;
    size_t n_name = 0;
    while (s->text[s->pos + n_name] != '=' && s->text[s->pos + n_name] != '+' && s->text[s->pos + n_name] != '[')
        n_name++;
    const char *name = tsim_arena_strndup(s->arena, s->text + s->pos, n_name);
    bool is_appended = s->text[s->pos + length - 2] == '+';
    s->pos += length;
    bool is_array = s->pos < s->size && s->text[s->pos] == '(';
    struct tsim_shell_fields f = {.never_splits = !is_array};
    if (is_array)
        read_array(r, &f);
    else
        tsim_shell_read_word(s, &f);
    if (is_active(r) && !r->in_condition && s->status == TSIM_OK)
        store(r, name, is_appended, is_array, &f);
    tsim_shell_release_fields(&f);
}

/* ---- Slurm's comments ---- */

static void set_number(struct reader *r, const char *name, const struct tsim_shell_word *word, size_t from) {
    const char *colon = strrchr(word->text + from, ':'); /* gpu:a100:8 */
    from = colon ? (size_t)(colon + 1 - word->text) : from;
    struct tsim_shell_word *value = TSIM_NEW(r->s.arena, struct tsim_shell_word);
    *value = (struct tsim_shell_word){word->text + from, word->at + from, word->start + (uint32_t)from};
    tsim_shell_set(&r->s, name, value, 1);
}

/* Sets what Slurm tells the script in its environment: --nodes=4, --nodes 4, -N 4, -N4; `before` is the word in
 * front. */
static void set_slurm(struct reader *r, const char *before, const struct tsim_shell_word *word) {
    static const struct {
        const char *option, *names[2];
    } OPTIONS[] = {{"--nodes", {"SLURM_NNODES", "SLURM_JOB_NUM_NODES"}},
                   {"-N", {"SLURM_NNODES", "SLURM_JOB_NUM_NODES"}},
                   {"--ntasks-per-node", {"SLURM_NTASKS_PER_NODE", "SLURM_NTASKS_PER_NODE"}},
                   {"--gpus-per-node", {"SLURM_GPUS_PER_NODE", "SLURM_GPUS_ON_NODE"}},
                   {"--gres", {"SLURM_GPUS_ON_NODE", "SLURM_GPUS_PER_NODE"}}};
    for (size_t i = 0; i < sizeof OPTIONS / sizeof OPTIONS[0]; i++) {
        size_t length = strlen(OPTIONS[i].option), from = 0;
        bool is_long = OPTIONS[i].option[1] == '-', is_alone = strcmp(before, OPTIONS[i].option) == 0;
        if (!is_alone && strncmp(word->text, OPTIONS[i].option, length) == 0 && word->text[length])
            from = !is_long ? length : word->text[length] == '=' ? length + 1 : 0;
        if (!is_alone && from == 0)
            continue;
        set_number(r, OPTIONS[i].names[0], word, from);
        set_number(r, OPTIONS[i].names[1], word, from);
    }
}

/* At '#': the rest of the line, which Slurm may read. */
static void read_comment(struct reader *r) {
    struct tsim_shell *s = &r->s;
    bool is_slurm = s->size - s->pos > 8 && memcmp(s->text + s->pos, "#SBATCH", 7) == 0 && is_active(r);
    s->pos += is_slurm ? 7 : 0;
    while (s->pos < s->size && s->text[s->pos] != '\n') {
        char c = s->text[s->pos];
        if (!is_slurm || strchr(" \t\r;&|()<>", c) || c == '\0') {
            s->pos++;
            continue;
        }
        if (c == '#')
            is_slurm = false;
        size_t before = s->pos;
        while (is_slurm && s->pos < s->size && !strchr(" \t\r\n", s->text[s->pos]))
            s->pos++;
        size_t end = s->pos;
        if (end > before) {
            uint32_t *at = TSIM_NEW_ARRAY(s->arena, end - before, uint32_t);
            for (size_t i = before; i < end; i++)
                at[i - before] = tsim_shell_place(s, i);
            struct tsim_shell_word word = {tsim_arena_strndup(s->arena, s->text + before, end - before), at,
                                           tsim_shell_place(s, before)};
            set_slurm(r, r->slurm.n > 0 ? r->slurm.words[r->slurm.n - 1].text : "", &word);
            append(&r->slurm, word);
        }
    }
}

/* ---- the script ---- */

static void read_heredoc_name(struct reader *r) {
    struct tsim_shell *s = &r->s;
    s->pos += 2;
    if (s->pos < s->size && s->text[s->pos] == '<') { /* a here-string */
        s->pos++;
        return;
    }
    struct tsim_shell_document document = tsim_shell_read_document_name(s);
    if (document.name && r->n_heredocs < MOST_HEREDOCS)
        r->heredocs[r->n_heredocs++] = (struct heredoc){document, r->n_commands};
}

/* A document becomes a script where a shell or sbatch is given it, or where it begins as a script does; the
 * value of a variable where `read` is given it; else nothing. */
static void use_heredoc(struct reader *r, const struct heredoc *h, const struct tsim_shell_word *word) {
    const size_t length = strcspn(word->text, "\n"), n_commands = r->n_commands;
    bool is_script = length > 4 && memcmp(word->text, "#!", 2) == 0 && memcmp(word->text + length - 2, "sh", 2) == 0;
    for (size_t i = h->first_command; i < n_commands; i++) {
        const struct tsim_shell_command *command = &r->commands[i];
        for (size_t j = 0; j < command->n_words; j++)
            is_script |= is_shell(command->words[j].text) || strcmp(command->words[j].text, "sbatch") == 0;
        if (strcmp(command->words[0].text, "read") == 0 && command->n_words > 1)
            tsim_shell_set(&r->s, command->words[command->n_words - 1].text, kept(r->s.arena, word, 1), 1);
    }
    if (is_script)
        read_inner(r, word->text, strlen(word->text), word->at);
}

/* Just behind a line's end: the here-documents that the line announced. */
static void read_heredocs(struct reader *r) {
    const size_t n = r->n_heredocs;
    struct heredoc heredocs[MOST_HEREDOCS];
    memcpy(heredocs, r->heredocs, n * sizeof heredocs[0]);
    r->n_heredocs = 0;
    for (size_t i = 0; i < n && r->s.status == TSIM_OK; i++) {
        struct tsim_shell_word word = tsim_shell_read_document(&r->s, &heredocs[i].document);
        if (is_active(r) && r->s.status == TSIM_OK)
            use_heredoc(r, &heredocs[i], &word);
    }
}

static void read_redirection(struct reader *r) {
    struct tsim_shell *s = &r->s;
    struct tsim_shell_fields f = {.never_splits = true};
    if (s->pos + 1 < s->size && s->text[s->pos] == '<' && s->text[s->pos + 1] == '<') {
        read_heredoc_name(r);
        return;
    }
    while (s->pos < s->size && strchr("<>&|", s->text[s->pos]) && s->text[s->pos])
        s->pos++;
    while (s->pos < s->size && (s->text[s->pos] == ' ' || s->text[s->pos] == '\t'))
        s->pos++;
    tsim_shell_read_word(s, &f);
    tsim_shell_release_fields(&f);
}

/* ; & | ( ) and line ends. */
static void read_operator(struct reader *r) {
    struct tsim_shell *s = &r->s;
    char c = s->text[s->pos], next = s->pos + 1 < s->size ? s->text[s->pos + 1] : '\0';
    bool is_double = c == next && strchr(";&|", c);
    if (r->in_condition && is_double)
        append(&r->condition, token(r, c == '&' ? "&&" : c == '|' ? "||" : ";"));
    else if (r->in_condition && c == '(' && next == '(') {
        size_t close = tsim_shell_matching(s, s->pos, '(', ')');
        if (close < s->size && close > s->pos + 2) {
            append(&r->condition, token(r, tsim_shell_arithmetic(s, s->pos + 2, close - 1) ? "true" : "false"));
            s->pos = close;
        }
    }
    if (!r->in_condition)
        end_command(r);
    s->pos += is_double ? 2 : 1;
    if (is_double && c == ';' && top(r, FRAME_CASE)) {
        top(r, FRAME_CASE)->wants_pattern = true;
        top(r, FRAME_CASE)->is_active = false;
    }
    if (c == '\n')
        read_heredocs(r);
}

/* A keyword or a word of a command. */
static void read_plain(struct reader *r) {
    struct tsim_shell *s = &r->s;
    size_t length = r->command.n == 0 && !r->in_condition ? assignment_length(s) : 0;
    if (length > 0) {
        read_assignment(r, length);
        return;
    }
    struct tsim_shell_fields f = {.never_splits = false};
    size_t before = s->pos;
    tsim_shell_read_word(s, &f);
    s->pos += s->pos == before;
    bool is_first = r->command.n == 0 || r->in_condition;
    bool is_keyword = is_first && f.n_words == 1 && s->status == TSIM_OK &&
                      strlen(f.words[0].text) == s->pos - before && keyword(r, f.words[0].text);
    bool is_stream = f.n_words == 1 && s->pos < s->size && (s->text[s->pos] == '>' || s->text[s->pos] == '<') &&
                     strspn(f.words[0].text, "0123456789") == s->pos - before; /* 2>&1 */
    for (size_t i = 0; i < f.n_words && !is_keyword && !is_stream; i++)
        append(r->in_condition ? &r->condition : &r->command, f.words[i]);
    tsim_shell_release_fields(&f);
}

static void read_item(struct reader *r) {
    struct tsim_shell *s = &r->s;
    char c = s->text[s->pos];
    bool is_continued = c == '\\' && s->pos + 1 < s->size && s->text[s->pos + 1] == '\n';
    if (is_continued)
        s->pos += 2;
    else if (c == ' ' || c == '\t' || c == '\r' || c == '\0')
        s->pos++;
    else if (c == '#')
        read_comment(r);
    else if (top(r, FRAME_CASE) && top(r, FRAME_CASE)->wants_pattern && c != '\n')
        read_patterns(r);
    else if (c == '<' || c == '>' || (c == '&' && s->pos + 1 < s->size && s->text[s->pos + 1] == '>'))
        read_redirection(r);
    else if (strchr("\n;&|()", c))
        read_operator(r);
    else
        read_plain(r);
}

static void release(struct reader *r) {
    tsim_heap_free(r->command.words);
    tsim_heap_free(r->condition.words);
    tsim_heap_free(r->assigned.words);
    tsim_heap_free(r->slurm.words);
    tsim_heap_free(r->before.words);
    tsim_heap_free(r->commands);
    tsim_heap_free(r->s.variables);
}

static void keep(struct reader *r, struct tsim_shell_script *script) {
    if (r->slurm.n > 0) {
        r->command.n = 0;
        append(&r->command, token(r, "sbatch"));
        for (size_t i = 0; i < r->slurm.n; i++)
            append(&r->command, r->slurm.words[i]);
        r->n_frames = 0;
        end_command(r);
    }
    struct tsim_shell_command *commands = TSIM_NEW_ARRAY(r->s.arena, r->n_commands, struct tsim_shell_command);
    if (r->n_commands > 0)
        memcpy(commands, r->commands, r->n_commands * sizeof *commands);
    *script = (struct tsim_shell_script){.commands = commands,
                                         .n_commands = r->n_commands,
                                         .assigned = kept(r->s.arena, r->assigned.words, r->assigned.n),
                                         .n_assigned = r->assigned.n,
                                         .undecided = r->undecided};
}

enum tsim_status tsim_shell_read(struct tsim_arena *arena, const char *text, size_t size,
                                 struct tsim_shell_script *script, size_t *offset, const char **message) {
    struct reader r = {.s = {.arena = arena, .text = text, .size = size}};
    while (r.s.pos < size && r.s.status == TSIM_OK)
        read_item(&r);
    end_command(&r);
    if (r.s.status == TSIM_OK)
        keep(&r, script);
    *offset = r.s.bad_offset;
    *message = r.s.bad_message;
    release(&r);
    return r.s.status;
}
