#include "import/launches/shell_words.h"

#include "base/among.h"

#include <fnmatch.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>

enum {
    MOST_FRAMES = 64,
    MOST_HEREDOCS = 8,
    MOST_INNER = 8,
    MOST_FUNCTIONS = 64,
    MOST_CALLS = 256,
    MOST_SOURCED = 16,
    MOST_ROUNDS = 2000,
    MOST_HIDDEN = 16,
    UNDECIDED = -1
};

enum frame_kind { FRAME_IF, FRAME_LOOP, FRAME_CASE };
struct frame {
    enum frame_kind kind;
    bool is_active, was_taken;
    bool wants_pattern;  /* of a case */
    const char *subject; /* the same */
    /* A loop: the place of its body, or of the condition of a `while`, and the remaining values of a `for`. */
    size_t again;
    bool is_while, is_until;
    const char *variable;
    const struct tsim_shell_word *values;
    size_t n_values;
    /* for ((...; CONDITION; STEP)): the places of these; 0 if it is no such loop. */
    size_t condition, condition_end, step_end;
};

struct heredoc { /* announced on the line that is read */
    struct tsim_shell_document document;
    size_t first_command; /* of its line */
};

struct list { /* words, on the heap */
    struct tsim_shell_word *words;
    size_t n, capacity;
};

struct function {
    const char *name, *text; /* of its body */
    const uint32_t *at;
    size_t size;
    bool is_running, was_called;
};

struct reader {
    struct tsim_shell s;
    struct function functions[MOST_FUNCTIONS];
    size_t n_functions;
    int n_calls;
    struct list command, condition, assigned, slurm;
    struct tsim_shell_command *commands; /* heap */
    size_t n_commands, commands_capacity;
    struct frame frames[MOST_FRAMES];
    size_t n_frames;
    bool is_declaring; /* behind export, declare and their like: words are assignments, options or names */
    bool in_condition; /* between `if` and `then`, `while` and `do` */
    struct heredoc heredocs[MOST_HEREDOCS];
    size_t n_heredocs;
    struct list before; /* words in front of each command: "srun -N 2" of srun -N 2 bash -c "..." */
    int n_inner;        /* shells within the script that are being read */
    int n_sourced, n_rounds;
    int n_repeating; /* loops that go round again: their commands count as they were the first time */
    bool skips_next; /* the command behind `test &&` or `||` */
    const struct tsim_shell_outside *outside;
    const char *undecided, *unread;
    const char *target;            /* the file into which this line's output goes; NULL: none */
    struct tsim_shell_file *files; /* heap */
    size_t n_files, files_capacity;
    struct tsim_shell_value *values; /* heap */
    size_t n_values, values_capacity;
    struct tsim_shell_variable hidden[MOST_HIDDEN]; /* what NAME=VALUE before a command hides as long as that runs */
    size_t n_hidden, first_own;                     /* the place of the first of them in `values` */
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
    const int n_repeating = r->n_repeating;
    const bool in_condition = r->in_condition;
    if (r->n_inner == MOST_INNER) {
        tsim_shell_fail(&r->s, TSIM_ERR_LIMIT, r->s.pos, "shells within shells deeper than 8 levels");
        return;
    }
    r->n_inner++;
    r->skips_next = false;
    r->n_heredocs = 0;
    r->in_condition = false;
    r->s.text = text, r->s.pos = 0, r->s.size = size, r->s.at = at;
    while (r->s.pos < r->s.size && r->s.status == TSIM_OK)
        read_item(r);
    end_command(r);
    r->s.text = outer.text, r->s.size = outer.size, r->s.at = outer.at;
    r->s.pos = r->s.status == TSIM_OK ? outer.pos : outer.size;
    r->n_frames = n_frames;
    r->n_repeating = n_repeating;
    r->n_heredocs = n_heredocs;
    r->in_condition = in_condition;
    r->n_inner--;
}

static bool is_shell(const char *word) {
    static const char *const SHELLS[] = {"bash", "sh", "zsh", "dash", "ksh", NULL};
    const char *slash = strrchr(word, '/');
    return is_one_of(slash ? slash + 1 : word, SHELLS);
}

/* Returns which word is the text of `bash -c TEXT`; 0: none. *n_before is the number of words in front of the shell. */
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
        for (size_t k = 0; k < length; k++)
            at[used + k] = words[i].at ? words[i].at[k] : words[i].start;
        used += length;
        text[used] = ' ';
        at[used++] = words[i].start;
    }
    text[used] = '\0';
    return (struct tsim_shell_word){text, at, words[0].start};
}

static void add_command(struct reader *r, const struct tsim_shell_word *words, size_t n) {
    if (r->n_repeating > 0)
        return;
    struct tsim_shell_word *all = TSIM_NEW_ARRAY(r->s.arena, r->before.n + n, struct tsim_shell_word);
    if (r->before.n > 0)
        memcpy(all, r->before.words, r->before.n * sizeof *all);
    memcpy(all + r->before.n, words, n * sizeof *all);
    r->commands = tsim_heap_grow(r->commands, &r->commands_capacity, r->n_commands + 1, sizeof *r->commands);
    r->commands[r->n_commands++] = (struct tsim_shell_command){all, r->before.n + n};
}

/* Reads `source FILE`: a file beside the script, with its mistakes and words at the place of the command. */
static void read_sourced(struct reader *r, const struct tsim_shell_word *file) {
    size_t size = 0;
    const char *text = NULL;
    const uint32_t place = file->start;
    if (r->n_sourced++ < MOST_SOURCED && r->outside && r->outside->read_beside)
        text = r->outside->read_beside(r->outside->context, r->s.arena, file->text, &size);
    if (!text) {
        r->unread = r->unread ? r->unread : file->text;
        return;
    }
    uint32_t *at = TSIM_NEW_ARRAY(r->s.arena, size + 1, uint32_t);
    for (size_t i = 0; i <= size; i++)
        at[i] = place;
    read_inner(r, text, size, at);
}

/* Reads `bash -c TEXT NAME ARGUMENTS...`; `n_own` words stand in front of the shell. */
static void read_shell(struct reader *r, const struct tsim_shell_word *words, size_t n, size_t n_own, size_t inner) {
    const size_t n_before = r->before.n, n_arguments = r->s.n_arguments;
    const struct tsim_shell_word *arguments = r->s.arguments;
    for (size_t i = 0; i < n_own; i++)
        append(&r->before, words[i]);
    r->s.arguments = words + inner + 2;
    r->s.n_arguments = n > inner + 2 ? n - inner - 2 : 0;
    read_inner(r, words[inner].text, strlen(words[inner].text), words[inner].at);
    r->s.arguments = arguments;
    r->s.n_arguments = n_arguments;
    r->before.n = n_before;
}

static void shift_arguments(struct reader *r, const struct tsim_shell_word *words, size_t n) {
    size_t by = n > 1 ? strtoul(words[1].text, NULL, 10) : 1;
    by = by < r->s.n_arguments ? by : r->s.n_arguments;
    r->s.arguments += by;
    r->s.n_arguments -= by;
}

/* Reads printf -v NAME FORMAT ... */
static bool set_formatted(struct reader *r, const struct tsim_shell_word *words, size_t n) {
    if (n < 4 || strcmp(words[0].text, "printf") != 0 || strcmp(words[1].text, "-v") != 0)
        return false;
    struct tsim_shell_word word =
        tsim_shell_word_at(&r->s, tsim_shell_format(r->s.arena, words + 3, n - 3), words[3].start);
    tsim_shell_set(&r->s, words[2].text, kept(r->s.arena, &word, 1), 1);
    return true;
}

/* The innermost loop ends here. */
static void leave_loop(struct reader *r) {
    size_t i = r->n_frames;
    while (i > 0 && r->frames[i - 1].kind != FRAME_LOOP)
        i--;
    if (i == 0)
        return;
    r->frames[i - 1].is_active = false;
    r->frames[i - 1].again = 0;
}

/* Commands that change what the script knows; true: it was one. */
static bool run_builtin(struct reader *r, const struct tsim_shell_word *words, size_t n) {
    const char *name = words[0].text;
    if ((strcmp(name, "source") == 0 || strcmp(name, ".") == 0) && n > 1)
        read_sourced(r, &words[1]);
    else if (strcmp(name, "shift") == 0)
        shift_arguments(r, words, n);
    else if (strcmp(name, "set") == 0 && n > 1 && strcmp(words[1].text, "--") == 0)
        r->s.arguments = words + 2, r->s.n_arguments = n - 2;
    else if (strcmp(name, "break") == 0)
        leave_loop(r);
    else
        return set_formatted(r, words, n);
    return true;
}

/* ---- functions ---- */

static bool is_word_end(char c) {
    return c == '\0' || strchr(" \t\r\n;&|()`\"'", c) != NULL;
}

/* Tells whether the name stands as a word behind `from`: nobody calls the function otherwise. */
static bool is_called(const struct tsim_shell *s, size_t from, const char *name) {
    const size_t n = strlen(name);
    for (size_t i = from; i + n <= s->size; i++)
        if (memcmp(s->text + i, name, n) == 0 && is_word_end(s->text[i - 1]) &&
            (i + n == s->size || is_word_end(s->text[i + n])))
            return true;
    return false;
}

/* Defines a function, "NAME() {" or "function NAME {", with `pos` behind the name, if it is called later: keeps its
 * body and goes past its end. Otherwise returns false, and the body is read in its place. */
static bool define(struct reader *r, const char *name) {
    struct tsim_shell *s = &r->s;
    size_t open = s->pos;
    while (open < s->size && strchr(" \t\r\n()", s->text[open]))
        open++;
    if (open >= s->size || s->text[open] != '{' || r->n_functions == MOST_FUNCTIONS)
        return false;
    const size_t close = tsim_shell_matching(s, open, '{', '}');
    if (close >= s->size || !is_called(s, close + 1, name))
        return false;
    const size_t size = close - open - 1;
    uint32_t *at = TSIM_NEW_ARRAY(s->arena, size + 1, uint32_t);
    for (size_t i = 0; i <= size; i++)
        at[i] = tsim_shell_place(s, open + 1 + i);
    r->functions[r->n_functions++] =
        (struct function){name, tsim_arena_strndup(s->arena, s->text + open + 1, size), at, size, false, false};
    s->pos = close + 1;
    return true;
}

/* Reads those that were not called after all, as by a condition that cannot be decided, as if they stood at the end. */
static void read_uncalled(struct reader *r) {
    for (size_t i = 0; i < r->n_functions && r->s.status == TSIM_OK; i++)
        if (!r->functions[i].was_called)
            read_inner(r, r->functions[i].text, r->functions[i].size, r->functions[i].at);
}

/* Reads the body of the function with the words as its arguments; false: there is none of that name. */
static bool call(struct reader *r, const struct tsim_shell_word *words, size_t n) {
    size_t i = r->n_functions;
    while (i > 0 && strcmp(r->functions[i - 1].name, words[0].text) != 0)
        i--;
    if (i == 0)
        return false;
    struct function *f = &r->functions[i - 1];
    const size_t n_arguments = r->s.n_arguments;
    const struct tsim_shell_word *arguments = r->s.arguments;
    if (f->is_running || r->n_inner + 1 >= MOST_INNER || r->n_calls++ >= MOST_CALLS)
        return true;
    f->is_running = f->was_called = true;
    r->s.arguments = words + 1;
    r->s.n_arguments = n - 1;
    read_inner(r, f->text, f->size, f->at);
    r->s.arguments = arguments;
    r->s.n_arguments = n_arguments;
    f->is_running = false;
    return true;
}

/* Runs a command; `eval TEXT...` and `bash -c TEXT` are the commands in the text. */
static void run_command(struct reader *r, const struct tsim_shell_word *words, size_t n) {
    size_t n_own = 0, inner = inner_text(words, n, &n_own);
    if (strcmp(words[0].text, "eval") == 0 && n > 1) {
        struct tsim_shell_word text = joined(r->s.arena, words + 1, n - 1);
        read_inner(r, text.text, strlen(text.text), text.at);
    } else if (inner > 0) {
        read_shell(r, words, n, n_own, inner);
    } else if (!run_builtin(r, words, n) && !call(r, words, n)) {
        add_command(r, words, n);
    }
}

/* Ends a command, and with it the assignments in front of it. */
static void end_command(struct reader *r) {
    const size_t n = r->command.n, n_hidden = r->n_hidden, first = r->first_own;
    const struct tsim_shell_word *words = kept(r->s.arena, r->command.words, n);
    struct tsim_shell_variable hidden[MOST_HIDDEN];
    memcpy(hidden, r->hidden, n_hidden * sizeof hidden[0]);
    r->command.n = r->n_hidden = 0;
    r->is_declaring = false;
    if (n == 0 || r->skips_next || !is_active(r) || r->s.status != TSIM_OK)
        return;
    run_command(r, words, n);
    for (size_t i = n_hidden; i-- > 0;) {
        r->values[first + i].to = r->n_commands;
        tsim_shell_set(&r->s, hidden[i].name, hidden[i].words, hidden[i].n_words);
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
    r->frames[r->n_frames++] =
        (struct frame){.kind = kind, .is_active = is_active_then, .was_taken = is_active_then && kind != FRAME_LOOP};
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

/* Adds the numbers of {1..8}. */
static bool add_range(struct reader *r, const struct tsim_shell_word *word, struct list *values) {
    char *end;
    if (word->text[0] != '{')
        return false;
    long long from = strtoll(word->text + 1, &end, 10);
    if (end == word->text + 1 || strncmp(end, "..", 2) != 0)
        return false;
    const char *second = end + 2;
    long long to = strtoll(second, &end, 10);
    if (end == second || strcmp(end, "}") != 0 || llabs(to - from) >= MOST_ROUNDS)
        return false;
    for (long long i = from; from <= to ? i <= to : i >= to; i += from <= to ? 1 : -1)
        append(values, tsim_shell_word_at(&r->s, tsim_arena_printf(r->s.arena, "%lld", i), word->start));
    return true;
}

/* Adds the numbers of $(seq FROM TO). */
static bool add_sequence(struct reader *r, struct list *values) {
    struct tsim_shell *s = &r->s;
    const size_t from = s->pos, close = s->pos + 1 < s->size ? tsim_shell_matching(s, s->pos + 1, '(', ')') : s->size;
    struct tsim_shell_fields f = {.never_splits = false};
    if (close >= s->size || strncmp(s->text + s->pos, "$(seq ", 6) != 0)
        return false;
    const size_t size = s->size;
    s->size = close;
    for (s->pos += 6; s->pos < close && s->status == TSIM_OK;) {
        size_t before = s->pos;
        s->pos += strspn(s->text + s->pos, " \t");
        if (s->pos < close)
            tsim_shell_read_word(s, &f);
        s->pos += s->pos == before;
    }
    s->size = size;
    long long numbers[3] = {1, 1, 1};
    for (size_t i = 0; i < f.n_words && i < 3; i++)
        numbers[i] = strtoll(f.words[i].text, NULL, 10);
    long long first = f.n_words > 1 ? numbers[0] : 1, step = f.n_words > 2 ? numbers[1] : 1,
              last = f.n_words == 0 ? 0 : numbers[f.n_words > 3 ? 2 : f.n_words - 1];
    tsim_shell_release_fields(&f);
    for (long long i = first, n = 0; step > 0 && i <= last && n < MOST_ROUNDS; i += step, n++)
        append(values, tsim_shell_word_at(s, tsim_arena_printf(s->arena, "%lld", i), tsim_shell_place(s, from)));
    s->pos = s->status == TSIM_OK ? close + 1 : s->size;
    return true;
}

static void skip_past(struct tsim_shell *s, const char *characters, size_t end) {
    while (s->pos < end && strchr(characters, s->text[s->pos]))
        s->pos++;
}

/* Runs NAME = VALUE, NAME++, NAME += VALUE and the like, in text[from, to). Returns false if it is nothing of the kind. */
static bool assign_number(struct reader *r, size_t from, size_t to) {
    struct tsim_shell *s = &r->s;
    while (from < to && strchr(" \t", s->text[from]))
        from++;
    size_t end = from;
    while (end < to && (s->text[end] == '_' || (s->text[end] >= '0' && s->text[end] <= '9') ||
                        (s->text[end] >= 'a' && s->text[end] <= 'z') || (s->text[end] >= 'A' && s->text[end] <= 'Z')))
        end++;
    if (end == from)
        return false;
    const char *name = tsim_arena_strndup(s->arena, s->text + from, end - from);
    const struct tsim_shell_variable *v = tsim_shell_get(s, name, end - from);
    long long old = v && v->n_words > 0 ? strtoll(v->words[0].text, NULL, 10) : 0, value;
    while (end < to && s->text[end] == ' ')
        end++;
    char first = end < to ? s->text[end] : '\0', second = end + 1 < to ? s->text[end + 1] : '\0';
    if ((first == '+' || first == '-') && second == first)
        value = old + (first == '+' ? 1 : -1);
    else if (first == '=' && second != '=')
        value = tsim_shell_arithmetic(s, end + 1, to);
    else if ((first == '+' || first == '-' || first == '*') && second == '=') {
        long long by = tsim_shell_arithmetic(s, end + 2, to);
        if (first == '*' ? __builtin_mul_overflow(old, by, &value)
                         : __builtin_add_overflow(old, first == '+' || by == LLONG_MIN ? by : -by, &value))
            value = 0;
    } else
        return false;
    struct tsim_shell_word word =
        tsim_shell_word_at(s, tsim_arena_printf(s->arena, "%lld", value), tsim_shell_place(s, from));
    tsim_shell_set(s, name, kept(s->arena, &word, 1), 1);
    return true;
}

/* Begins a counting loop at the "((" of for ((A; B; C)). */
static void begin_counting(struct reader *r) {
    struct tsim_shell *s = &r->s;
    const size_t open = s->pos, close = tsim_shell_matching(s, open, '(', ')');
    size_t parts[3] = {close, close, close}, n = 0;
    if (close >= s->size || close < open + 3) {
        tsim_shell_fail(s, TSIM_ERR_SYNTAX, open, "'for ((' without its '))'");
        return;
    }
    for (size_t i = open + 2; i + 1 < close && n < 2; i++)
        if (s->text[i] == ';')
            parts[n++] = i;
    bool is_started = n == 2 && is_active(r) && assign_number(r, open + 2, parts[0]);
    push_frame(r, FRAME_LOOP, is_started && tsim_shell_arithmetic(s, parts[0] + 1, parts[1]));
    struct frame *frame = top(r, FRAME_LOOP);
    if (frame && is_started) {
        frame->condition = parts[0] + 1;
        frame->condition_end = parts[1];
        frame->step_end = close - 1;
    }
    s->pos = s->status == TSIM_OK ? close + 1 : s->size;
}

/* Begins `for NAME in WORDS`, or a loop over the arguments. */
static void begin_for(struct reader *r) {
    struct tsim_shell *s = &r->s;
    struct list values = {NULL, 0, 0};
    skip_to_word(s);
    if (s->pos + 1 < s->size && s->text[s->pos] == '(' && s->text[s->pos + 1] == '(') {
        begin_counting(r);
        return;
    }
    const char *name = next_text(r);
    const bool has_words = *name && strcmp(next_text(r), "in") == 0;
    while (has_words && s->pos < s->size && !strchr(";\n", s->text[s->pos]) && s->status == TSIM_OK) {
        struct tsim_shell_fields f = {.never_splits = false};
        const size_t before = s->pos;
        skip_past(s, " \t", s->size);
        if (!add_sequence(r, &values)) {
            tsim_shell_read_word(s, &f);
            for (size_t i = 0; i < f.n_words; i++)
                if (!add_range(r, &f.words[i], &values))
                    append(&values, f.words[i]);
        }
        tsim_shell_release_fields(&f);
        s->pos += s->pos == before;
    }
    const struct tsim_shell_word *all = kept(s->arena, values.words, values.n);
    if (values.n > 0 && is_active(r))
        tsim_shell_set(s, name, all, 1);
    push_frame(r, FRAME_LOOP, values.n > 0 || !*name);
    if (top(r, FRAME_LOOP) && values.n > 1) {
        top(r, FRAME_LOOP)->variable = name;
        top(r, FRAME_LOOP)->values = all + 1;
        top(r, FRAME_LOOP)->n_values = values.n - 1;
    }
    tsim_heap_free(values.words);
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

/* Begins the loop's next round, with its variable set, if there is one. */
static bool goes_round(struct reader *r, struct frame *frame) {
    struct tsim_shell *s = &r->s;
    if (frame->again == 0 || !frame->is_active || s->status != TSIM_OK || ++r->n_rounds > MOST_ROUNDS)
        return false;
    if (frame->condition > 0)
        return assign_number(r, frame->condition_end + 1, frame->step_end) &&
               tsim_shell_arithmetic(s, frame->condition, frame->condition_end) != 0;
    if (frame->is_while)
        return true;
    if (frame->n_values == 0)
        return false;
    tsim_shell_set(s, frame->variable, frame->values++, 1);
    frame->n_values--;
    return true;
}

static void on_done(struct reader *r) {
    struct frame *frame = top(r, FRAME_LOOP);
    if (!frame)
        return;
    const bool is_outer_active = is_active(r);
    if (is_outer_active && goes_round(r, frame)) {
        r->n_repeating += !frame->was_taken;
        frame->was_taken = true; /* once round */
        r->s.pos = frame->again;
        r->in_condition = frame->is_while;
        r->condition.n = 0;
        return;
    }
    r->n_repeating -= frame->was_taken;
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
    if (frame && r->in_condition) {
        int result = condition_of(&r->condition);
        frame->is_active = result == UNDECIDED ? decide(r) : frame->is_until ? result == 0 : result == 1;
        r->condition.n = 0;
    }
    if (frame && !frame->is_while)
        frame->again = r->s.pos;
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
    if (top(r, kind)) {
        top(r, kind)->was_taken = false;
        top(r, kind)->is_while = kind == FRAME_LOOP;
        top(r, kind)->again = r->s.pos;
    }
    r->in_condition = true;
}

/* Returns whether `word` was a keyword. */
static bool keyword(struct reader *r, const char *word) {
    static const char *const PASSED[] = {"{", "}", "time", "exec", "!", "env", NULL}, *const DECLARING[] = {
                                                                                          "export",   "local",
                                                                                          "readonly", "declare",
                                                                                          "typeset",  NULL};
    if (strcmp(word, "if") == 0) {
        on_if(r, FRAME_IF);
    } else if (strcmp(word, "while") == 0 || strcmp(word, "until") == 0) {
        on_if(r, FRAME_LOOP);
        if (top(r, FRAME_LOOP))
            top(r, FRAME_LOOP)->is_until = word[0] == 'u';
    } else if (strcmp(word, "for") == 0)
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
        on_done(r);
    else if (strcmp(word, "esac") == 0)
        end_frame(r, FRAME_CASE);
    else if (!r->in_condition && is_one_of(word, DECLARING))
        r->is_declaring = true;
    else
        return !r->in_condition && is_one_of(word, PASSED);
    return true;
}

/*  PATTERN).|Reads the patterns at the beginning of a branch of a case: PATTERN | PATTERN).| PATTERN). */
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

static void add_value(struct reader *r, const char *name, struct tsim_shell_word word) {
    r->values = tsim_heap_grow(r->values, &r->values_capacity, r->n_values + 1, sizeof *r->values);
    r->values[r->n_values++] = (struct tsim_shell_value){name, word, NULL, r->n_commands, SIZE_MAX};
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
        for (size_t i = 0; i < n; i++)
            at[i] = last->at ? last->at[i] : more->start;
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
    const bool is_in_front = !r->is_declaring && r->n_hidden < MOST_HIDDEN;
    if (is_in_front && r->n_hidden == 0)
        r->first_own = r->n_values;
    if (is_in_front)
        r->hidden[r->n_hidden++] = old ? *old : (struct tsim_shell_variable){name, NULL, 0, NULL};
    tsim_shell_set(&r->s, name, kept(r->s.arena, words.words, words.n), words.n);
    add_value(r, name, words.n > 0 ? words.words[0] : token(r, ""));
    tsim_heap_free(words.words);
}

/* Notes that the variable is empty because `lost` was. */
static void set_lost(struct tsim_shell *s, const char *name, const char *lost) {
    for (size_t i = 0; i < s->n_variables; i++)
        if (strcmp(s->variables[i].name, name) == 0 && s->variables[i].n_words <= 1 &&
            (s->variables[i].n_words == 0 || !s->variables[i].words[0].text[0]))
            s->variables[i].lost = lost;
}

/* Sets the elements of an associative array that are written as [KEY]=VALUE in its list. */
static void store_elements(struct reader *r, const char *name, const struct tsim_shell_fields *f) {
    for (size_t i = 0; i < f->n_words; i++) {
        const char *text = f->words[i].text, *end = text[0] == '[' ? strstr(text, "]=") : NULL;
        if (!end)
            continue;
        const size_t n = (size_t)(end + 2 - text);
        struct tsim_shell_word *word = TSIM_NEW_ARRAY(r->s.arena, 1, struct tsim_shell_word);
        *word = (struct tsim_shell_word){end + 2, f->words[i].at ? f->words[i].at + n : NULL, f->words[i].start};
        const char *key = tsim_arena_strndup(r->s.arena, text + 1, (size_t)(end - text - 1));
        tsim_shell_set(&r->s, tsim_shell_element(r->s.arena, name, strlen(name), key), word, 1);
        tsim_shell_set(&r->s, name, NULL, 0);
    }
}

static void read_assignment(struct reader *r, size_t length) {
    struct tsim_shell *s = &r->s;
    size_t n_name = 0;
    while (s->text[s->pos + n_name] != '=' && s->text[s->pos + n_name] != '+' && s->text[s->pos + n_name] != '[')
        n_name++;
    const char *name = tsim_arena_strndup(s->arena, s->text + s->pos, n_name);
    const size_t end = s->pos + length;
    bool is_appended = s->text[end - 2] == '+';
    if (s->text[s->pos + n_name] == '[') {
        s->pos += n_name + 1;
        name = tsim_shell_element(s->arena, name, n_name, tsim_shell_text_to(s, end - 2 - is_appended));
    }
    s->pos = end;
    bool is_array = s->pos < s->size && s->text[s->pos] == '(';
    struct tsim_shell_fields f = {.never_splits = !is_array};
    s->missing = NULL;
    if (is_array)
        read_array(r, &f);
    else
        tsim_shell_read_word(s, &f);
    if (is_active(r) && !r->in_condition && !r->skips_next && s->status == TSIM_OK) {
        const char *lost = f.n_words == 0 || !f.words[0].text[0] ? s->missing : NULL;
        store(r, name, is_appended, is_array, &f);
        if (is_array)
            store_elements(r, name, &f);
        if (lost) {
            set_lost(s, name, lost);
            r->values[r->n_values - 1].lost = lost;
        }
    }
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

/* Reads, at '#', the rest of the line, which Slurm may read. */
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

/* A document becomes a script if a shell or sbatch is given it, or if it begins like a script. If `read` is given it,
 * it becomes the value of a variable; otherwise nothing. */
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
    if (r->target) {
        r->files = tsim_heap_grow(r->files, &r->files_capacity, r->n_files + 1, sizeof *r->files);
        r->files[r->n_files++] = (struct tsim_shell_file){r->target, word->text};
    }
    if (is_script)
        read_inner(r, word->text, strlen(word->text), word->at);
}

/* Reads, just behind a line's end, the here-documents that the line announced. */
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
    r->target = NULL;
}

static void read_redirection(struct reader *r) {
    struct tsim_shell *s = &r->s;
    struct tsim_shell_fields f = {.never_splits = true};
    if (s->pos + 1 < s->size && s->text[s->pos] == '<' && s->text[s->pos + 1] == '<') {
        read_heredoc_name(r);
        return;
    }
    const bool writes = s->text[s->pos] == '>';
    while (s->pos < s->size && strchr("<>&|", s->text[s->pos]) && s->text[s->pos])
        s->pos++;
    while (s->pos < s->size && (s->text[s->pos] == ' ' || s->text[s->pos] == '\t'))
        s->pos++;
    tsim_shell_read_word(s, &f);
    r->target = writes && f.n_words > 0 ? f.words[0].text : r->target;
    tsim_shell_release_fields(&f);
}

/* A test in front of && or || decides whether the command behind it runs. All other commands are assumed to succeed, so
 * a command behind || does not run. */
static void end_listed(struct reader *r, char operation, bool is_double) {
    const struct list *command = &r->command;
    const char *name = command->n > 0 ? command->words[0].text : "";
    bool is_test = TSIM_IS_ONE_OF(name, "[", "[[", "test");
    int result = is_test ? condition_of(command) : 1;
    bool was_skipped = r->skips_next;
    if (is_test)
        r->n_hidden = 0;
    else
        end_command(r);
    r->command.n = 0;
    bool is_list = is_double && operation != ';';
    if (is_list && !was_skipped)
        r->skips_next = operation == '&' ? result != 1 : result == 1;
    else if (is_list && operation == '|')
        r->skips_next = false; /* test && a || b: runs b unless a was run */
    else if (!is_list && strchr(";\n&", operation))
        r->skips_next = false;
}

/* Reads ; & | ( ) and ends of lines. */
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
        end_listed(r, c, is_double);
    s->pos += is_double ? 2 : 1;
    if (is_double && c == ';' && top(r, FRAME_CASE)) {
        top(r, FRAME_CASE)->wants_pattern = true;
        top(r, FRAME_CASE)->is_active = false;
    }
    if (c == '\n')
        read_heredocs(r);
}

/* Takes a word behind export, declare and their like that is not written as an assignment: "$NAME"="$VALUE", an option,
 * or a name. */
static void declare_word(struct reader *r, const struct tsim_shell_fields *f) {
    const char *text = f->n_words > 0 ? f->words[0].text : "", *equals = strchr(text, '=');
    if (!equals || equals == text || text[0] == '-' || !is_active(r) || r->skips_next)
        return;
    const size_t n = (size_t)(equals - text) + 1;
    struct tsim_shell_word value = {equals + 1, f->words[0].at ? f->words[0].at + n : NULL, f->words[0].start};
    const struct tsim_shell_fields own = {.words = &value, .n_words = 1, .never_splits = true};
    store(r, tsim_arena_strndup(r->s.arena, text, n - 1), false, false, &own);
}

/* Tells whether the word begins a function, which is kept then: it has brackets behind it, or is `function`. */
static bool defines(struct reader *r, const char *word) {
    struct tsim_shell *s = &r->s;
    const size_t before = s->pos;
    size_t open = s->pos;
    while (open < s->size && (s->text[open] == ' ' || s->text[open] == '\t'))
        open++;
    if (open + 1 < s->size && s->text[open] == '(' && s->text[open + 1] == ')')
        return define(r, word);
    if (strcmp(word, "function") != 0)
        return false;
    size_t end = open;
    while (end < s->size && !is_word_end(s->text[end]) && s->text[end] != '{')
        end++;
    s->pos = end;
    if (end > open && define(r, tsim_arena_strndup(s->arena, s->text + open, end - open)))
        return true;
    s->pos = before;
    return false;
}

/* Tells whether the words are within [[ ]], where what expands to nothing is an empty word. */
static bool is_in_double_brackets(const struct reader *r) {
    const struct list *list = r->in_condition ? &r->condition : &r->command;
    for (size_t i = list->n; i-- > 0;)
        if (TSIM_IS_ONE_OF(list->words[i].text, "[[", "]]"))
            return list->words[i].text[0] == '[';
    return false;
}

/* Reads a keyword or a word of a command. */
static void read_plain(struct reader *r) {
    struct tsim_shell *s = &r->s;
    size_t length = r->command.n == 0 && !r->in_condition ? assignment_length(s) : 0;
    if (length > 0) {
        read_assignment(r, length);
        return;
    }
    struct tsim_shell_fields f = {.never_splits = is_in_double_brackets(r)};
    size_t before = s->pos;
    tsim_shell_read_word(s, &f);
    if (f.never_splits && f.n_words == 0 && s->pos > before)
        append(r->in_condition ? &r->condition : &r->command, token(r, ""));
    s->pos += s->pos == before;
    bool is_first = r->command.n == 0 || r->in_condition;
    const char *only =
        f.n_words == 1 && s->status == TSIM_OK && strlen(f.words[0].text) == s->pos - before ? f.words[0].text : "";
    if (is_first && !r->in_condition && !r->is_declaring && *only && defines(r, only)) {
        tsim_shell_release_fields(&f);
        return;
    }
    if (r->is_declaring) {
        declare_word(r, &f);
        tsim_shell_release_fields(&f);
        return;
    }
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
    tsim_heap_free(r->files);
    tsim_heap_free(r->values);
    tsim_heap_free(r->s.variables);
}

static void keep_lost(struct reader *r, struct tsim_shell_script *script) {
    struct tsim_shell_lost *lost = TSIM_NEW_ARRAY(r->s.arena, r->s.n_variables, struct tsim_shell_lost);
    script->lost = lost;
    for (size_t i = 0; i < r->s.n_variables; i++)
        if (r->s.variables[i].lost)
            lost[script->n_lost++] = (struct tsim_shell_lost){r->s.variables[i].name, r->s.variables[i].lost};
}

static void keep_values(struct reader *r, struct tsim_shell_script *script) {
    struct tsim_shell_value *values = TSIM_NEW_ARRAY(r->s.arena, r->n_values, struct tsim_shell_value);
    struct tsim_shell_file *files = TSIM_NEW_ARRAY(r->s.arena, r->n_files, struct tsim_shell_file);
    for (size_t i = 0; i < r->n_values; i++)
        values[i] = r->values[i];
    for (size_t i = 0; i < r->n_files; i++)
        files[i] = r->files[i];
    script->values = values;
    script->n_values = r->n_values;
    script->files = files;
    script->n_files = r->n_files;
}

/* Words from outside have no place in the script. */
static void take_outside(struct reader *r) {
    const struct tsim_shell_outside *o = r->outside;
    if (!o)
        return;
    struct tsim_shell_word *words = TSIM_NEW_ARRAY(r->s.arena, o->n_arguments, struct tsim_shell_word);
    for (size_t i = 0; i < o->n_arguments; i++)
        words[i] = (struct tsim_shell_word){o->arguments[i], NULL, 0};
    r->s.arguments = words;
    r->s.n_arguments = o->n_arguments;
    for (size_t i = 0; i < o->n_environment; i++) {
        const char *equals = strchr(o->environment[i], '=');
        struct tsim_shell_word *value = TSIM_NEW(r->s.arena, struct tsim_shell_word);
        if (!equals)
            continue;
        *value = (struct tsim_shell_word){equals + 1, NULL, 0};
        const char *name = tsim_arena_strndup(r->s.arena, o->environment[i], (size_t)(equals - o->environment[i]));
        tsim_shell_set(&r->s, name, value, 1);
        add_value(r, name, *value);
    }
}

const struct tsim_shell_value *tsim_shell_value_of(const struct tsim_shell_script *script, const char *name,
                                                   size_t command) {
    for (size_t i = script->n_values; i-- > 0;) {
        const struct tsim_shell_value *v = &script->values[i];
        if (v->from <= command && command < v->to && strcmp(v->name, name) == 0)
            return v;
    }
    return NULL;
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
                                         .undecided = r->undecided,
                                         .unread = r->unread};
    keep_lost(r, script);
    keep_values(r, script);
}

enum tsim_status tsim_shell_read(struct tsim_arena *arena, const char *text, size_t size,
                                 const struct tsim_shell_outside *outside, struct tsim_shell_script *script,
                                 size_t *offset, const char **message) {
    struct reader r = {.s = {.arena = arena, .text = text, .size = size}, .outside = outside};
    take_outside(&r);
    while (r.s.pos < size && r.s.status == TSIM_OK)
        read_item(&r);
    end_command(&r);
    if (r.s.status == TSIM_OK)
        read_uncalled(&r);
    if (r.s.status == TSIM_OK)
        keep(&r, script);
    *offset = r.s.bad_offset;
    *message = r.s.bad_message;
    release(&r);
    return r.s.status;
}
