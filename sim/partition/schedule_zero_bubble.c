#include "partition/schedule_zero_bubble.h"

static int32_t min_int(int32_t a, int32_t b) {
    return a < b ? a : b;
}

/* ---- building ---- */

struct builder {
    struct tsim_schedule_program *program;
    bool exchanged; /* dualpipe's second half: chunk 0 is 1 and 1 is 0 */
};

static enum tsim_pass_kind kind_of(char letter) {
    switch (letter) {
    case 'F':
        return TSIM_PASS_FORWARD;
    case 'B':
        return TSIM_PASS_BACKWARD;
    case 'I':
        return TSIM_PASS_INPUT_GRADIENT;
    case 'W':
        return TSIM_PASS_WEIGHT_GRADIENT;
    default:
        TSIM_BUG("pass '%c'", letter);
    }
}

/* Adds a phase in the header's notation, "F0&B1 F1" for example. */
static void phase(const struct builder *b, int32_t repeats, const char *pattern) {
    if (repeats <= 0)
        return;
    TSIM_ASSERT(b->program->n_phases < TSIM_MAX_PHASES);
    struct tsim_schedule_phase *to = &b->program->phases[b->program->n_phases++];
    to->repeats = repeats;
    to->n_steps = 0;
    enum tsim_pass_pair pair = TSIM_PAIR_NONE;
    for (const char *c = pattern; *c; c += 2) {
        c += *c == ' ';
        struct tsim_schedule_step step = {.kind = kind_of(c[0]), .pair = pair, .chunk = c[1] - '0'};
        if (b->exchanged)
            step.chunk = 1 - step.chunk;
        pair = TSIM_PAIR_NONE;
        if (c[2] == '&') {
            step.pair = TSIM_PAIR_FIRST;
            pair = TSIM_PAIR_SECOND;
            c++;
        }
        TSIM_ASSERT(to->n_steps < TSIM_PHASE_MAX_STEPS);
        to->steps[to->n_steps++] = step;
    }
}

static void build_h1(const struct tsim_schedule_shape *z, int32_t s, const struct builder *b) {
    int32_t m = z->microbatches, warmup = min_int(z->stages - 1 - s, m), delay = min_int(s, m - warmup);
    phase(b, warmup, "F0");
    phase(b, delay, "F0I0");
    phase(b, m - warmup - delay, "F0I0W0");
    phase(b, warmup, "I0W0");
    phase(b, delay, "W0");
}

static void build_h2(const struct tsim_schedule_shape *z, int32_t s, const struct builder *b) {
    int32_t m = z->microbatches, warmup = min_int(2 * (z->stages - s) - 1, m), delay = min_int(2 * s, m - warmup);
    phase(b, warmup, "F0");
    phase(b, m - warmup - delay, "I0W0F0");
    phase(b, delay, "I0F0");
    phase(b, warmup, "I0W0");
    phase(b, delay, "W0");
}

static void build_v(const struct tsim_schedule_shape *z, int32_t s, const struct builder *b) {
    int32_t p = z->stages, m = z->microbatches;
    TSIM_ASSERT(m >= 2 * p - 1);
    phase(b, 2 * (p - s) - 1, "F0");
    phase(b, s, "F1F0");
    phase(b, p - s, "F1I1W1");
    phase(b, m - 2 * p + 1 + s, "F0I0W0F1I1W1");
    phase(b, p - 1 - s, "I0W0F1I1W1");
    phase(b, s, "I0I1");
    phase(b, p - s, "I0W0");
    phase(b, s, "W1");
    phase(b, s, "W0");
}

/* Puts the weight gradients `from` to `to` among those that step 6 delayed, oldest first: the first h+1 alternate
 * between the chunks and end with chunk 0, the others belong to chunk 0. In step 7 each comes before an input gradient
 * of chunk 0, in step 8 none does. */
static void delayed_weights(const struct builder *b, int32_t h, int32_t from, int32_t to, bool with_input) {
    int32_t alternating = min_int(to, h + 1) - from, i = from;
    bool odd = (h + 1 - from) % 2; /* an odd number left: the oldest is of chunk 0 */
    if (alternating > 0 && odd)
        phase(b, 1, with_input ? "W0I0" : "W0"), i++, alternating--;
    if (alternating > 1)
        phase(b, alternating / 2, with_input ? "W1I0 W0I0" : "W1W0"), i += alternating / 2 * 2;
    if (alternating > 0 && alternating % 2)
        phase(b, 1, with_input ? "W1I0" : "W1"), i++;
    phase(b, to - i, with_input ? "W0I0" : "W0");
}

static void build_dualpipe(const struct tsim_schedule_shape *z, int32_t s, const struct builder *b) {
    int32_t p = z->stages, m = z->microbatches, h = min_int(s, p - 1 - s), outer = p / 2 - 1 - h;
    int32_t main_repeats = m / 2 - p + h + 1;
    TSIM_ASSERT(p % 2 == 0 && m % 2 == 0 && m >= 2 * p);
    phase(b, 2 * outer, "F0");
    phase(b, h + 1, "F0F1");
    phase(b, outer, "I1W1F1");
    phase(b, 1, outer == 0 ? "F0B1 F1&B0" : "F0&B1 F1&B0");
    phase(b, main_repeats - 1, "F0&B1 F1&B0");
    phase(b, outer, "B1 F1&B0");
    phase(b, (h + 1) / 2, "B1B0");
    phase(b, (h + 1) % 2, "B1I0");
    phase(b, (h + 1) / 2, "I1I0");
    delayed_weights(b, h, 0, outer, true);
    delayed_weights(b, h, outer, p / 2, false);
}

void tsim_schedule_program_build(const struct tsim_schedule_shape *z, int32_t stage,
                                 struct tsim_schedule_program *program) {
    program->n_phases = 0;
    struct builder b = {program, z->schedule == TSIM_SCHEDULE_DUALPIPE && stage >= z->stages / 2};
    switch (z->schedule) {
    case TSIM_SCHEDULE_ZB_H1:
        build_h1(z, stage, &b);
        return;
    case TSIM_SCHEDULE_ZB_H2:
        build_h2(z, stage, &b);
        return;
    case TSIM_SCHEDULE_ZB_V:
        build_v(z, stage, &b);
        return;
    case TSIM_SCHEDULE_DUALPIPE:
        build_dualpipe(z, stage, &b);
        return;
    case TSIM_SCHEDULE_SEQUENTIAL:
    case TSIM_SCHEDULE_GPIPE:
    case TSIM_SCHEDULE_PIPEDREAM:
    case TSIM_SCHEDULE_PIPEDREAM_2BW:
    case TSIM_SCHEDULE_1F1B:
    case TSIM_SCHEDULE_INTERLEAVED:
        break;
    }
    TSIM_BUG("schedule %d", (int)z->schedule);
}

/* ---- reading ---- */

/* Passes so far: forwards, input gradients, weight gradients, by chunk. A whole backward pass counts as both. */
struct progress {
    int32_t n[3][2];
};

static struct tsim_pass_item advance(struct progress *at, const struct tsim_schedule_step *step, int32_t times) {
    static const int FIRST[] = {[TSIM_PASS_FORWARD] = 0,
                                [TSIM_PASS_BACKWARD] = 1,
                                [TSIM_PASS_INPUT_GRADIENT] = 1,
                                [TSIM_PASS_WEIGHT_GRADIENT] = 2};
    int32_t *n = &at->n[FIRST[step->kind]][step->chunk], microbatch = *n;
    *n += times;
    if (step->kind == TSIM_PASS_BACKWARD)
        at->n[2][step->chunk] += times;
    return (struct tsim_pass_item){
        .kind = step->kind, .pair = step->pair, .microbatch = microbatch, .chunk = step->chunk};
}

int32_t tsim_schedule_program_n_items(const struct tsim_schedule_program *program) {
    int32_t n = 0;
    for (int32_t i = 0; i < program->n_phases; i++)
        n += program->phases[i].repeats * program->phases[i].n_steps;
    return n;
}

struct tsim_schedule_turns tsim_schedule_program_turns(const struct tsim_schedule_program *program) {
    struct tsim_schedule_turns turns = {-1, 0};
    int32_t n = 0;
    for (int32_t i = 0; i < program->n_phases; i++) {
        const struct tsim_schedule_phase *phase = &program->phases[i];
        int32_t last = n + (phase->repeats - 1) * phase->n_steps;
        for (int32_t s = 0; s < phase->n_steps; s++) {
            if (phase->steps[s].kind == TSIM_PASS_FORWARD)
                turns.forward_end = last + s + 1;
            else if (turns.first_gradient < 0)
                turns.first_gradient = n + s;
        }
        n += phase->repeats * phase->n_steps;
    }
    return turns;
}

struct tsim_pass_item tsim_schedule_program_item(const struct tsim_schedule_program *program, int32_t index) {
    struct progress at = {{{0}}};
    for (int32_t i = 0; i < program->n_phases; i++) {
        const struct tsim_schedule_phase *phase = &program->phases[i];
        int32_t n = phase->repeats * phase->n_steps, whole = index < n ? index / phase->n_steps : phase->repeats;
        for (int32_t s = 0; s < phase->n_steps; s++)
            advance(&at, &phase->steps[s], whole);
        if (index < n) {
            for (int32_t s = 0; s < index % phase->n_steps; s++)
                advance(&at, &phase->steps[s], 1);
            return advance(&at, &phase->steps[index % phase->n_steps], 1);
        }
        index -= n;
    }
    TSIM_BUG("item beyond the end by %d", (int)index);
}

void tsim_schedule_program_fill(const struct tsim_schedule_program *program, struct tsim_pass_item *items) {
    struct progress at = {{{0}}};
    for (int32_t i = 0; i < program->n_phases; i++)
        for (int32_t r = 0; r < program->phases[i].repeats; r++)
            for (int32_t s = 0; s < program->phases[i].n_steps; s++)
                *items++ = advance(&at, &program->phases[i].steps[s], 1);
}

/* Every repetition changes what is held by the same amount: the peak of a phase is in its first or its last. */
double tsim_schedule_program_peak(const struct tsim_schedule_program *program, const double whole[2],
                                  const double kept[2], struct tsim_schedule_held *at_peak) {
    struct tsim_schedule_held n = {{0}, {0}}, most = n, n_before;
    double held = 0, peak = 0;
    for (int32_t i = 0; i < program->n_phases; i++) {
        const struct tsim_schedule_phase *phase = &program->phases[i];
        double before = held;
        n_before = n;
        for (int32_t r = 0; r < min_int(phase->repeats, 2); r++) {
            if (r == 1)
                held = before + (phase->repeats - 1) * (held - before);
            for (int c = 0; r == 1 && c < 2; c++) {
                n.whole[c] = n_before.whole[c] + (phase->repeats - 1) * (n.whole[c] - n_before.whole[c]);
                n.kept[c] = n_before.kept[c] + (phase->repeats - 1) * (n.kept[c] - n_before.kept[c]);
            }
            for (int32_t s = 0; s < phase->n_steps; s++) {
                int32_t c = phase->steps[s].chunk;
                const double change[] = {[TSIM_PASS_FORWARD] = whole[c],
                                         [TSIM_PASS_BACKWARD] = -whole[c],
                                         [TSIM_PASS_INPUT_GRADIENT] = kept[c] - whole[c],
                                         [TSIM_PASS_WEIGHT_GRADIENT] = -kept[c]};
                enum tsim_pass_kind kind = phase->steps[s].kind;
                held += change[kind];
                n.whole[c] += kind == TSIM_PASS_FORWARD ? 1 : kind == TSIM_PASS_WEIGHT_GRADIENT ? 0 : -1;
                n.kept[c] += kind == TSIM_PASS_INPUT_GRADIENT ? 1 : kind == TSIM_PASS_WEIGHT_GRADIENT ? -1 : 0;
                if (held > peak) {
                    peak = held;
                    most = n;
                }
            }
        }
    }
    if (at_peak)
        *at_peak = most;
    return peak;
}
