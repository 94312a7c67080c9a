#include "study/search/clusters.h"

#include "config/recognize.h"
#include "model/model.h"
#include "results/loss_law.h"
#include "study/search/buy_judgements.h"

#include <math.h>
#include <string.h>

enum { MOST_CHUNKS = 5, MOST_VARIED = 8 };

static int64_t whole_batch_divisor(const struct tsim_scenario *job, int64_t accelerators) {
    int64_t odd = accelerators;
    while (odd % 2 == 0)
        odd /= 2;
    if (job->training.global_batch_size % odd == 0)
        return accelerators;
    int64_t power = 1;
    while (2 * power <= accelerators)
        power *= 2;
    return power;
}

/* ---- what a machine says for itself ---- */

struct machine_prices {
    struct tsim_arena *arena;
    const struct tsim_scenario_source *source;
    const struct tsim_override *overrides;
    size_t n_overrides;
    bool adds_fabric;
};

static bool is_set(const struct tsim_choice *choice, const char *path) {
    for (size_t i = 0; choice && i < choice->n_settings; i++)
        if (strcmp(choice->settings[i].path, path) == 0)
            return true;
    return false;
}

/* Returns the catalogue's prices of a machine, for those keys that the scenario states of the one that it names. */
static size_t own_prices(const struct machine_prices *m, const char *id, const struct tsim_node *node,
                         const struct tsim_choice *choice, struct tsim_override *prices) {
    const struct tsim_accelerator *a = node->accelerator;
    const struct tsim_value *named = tsim_value_find_path(m->source->root, "cluster.node");
    const struct {
        const char *path, *unit;
        double value;
    } OWN[] = {{"cost.rent", "USD/h", a->rent_usd_per_s * TSIM_HOUR_S},
               {"cost.reserved", "USD/h", a->reserved_usd_per_s * TSIM_HOUR_S},
               {"cost.purchase", "USD", a->purchase_usd},
               {"cost.price_spread", "", a->price_spread}};
    bool states_spread = tsim_value_find_path(m->source->root, "cost.price_spread") != NULL;
    size_t n = 0;
    if (named && tsim_value_is_text(named, id))
        return 0;
    for (size_t i = 0; i < sizeof OWN / sizeof OWN[0]; i++) {
        bool is_spread = OWN[i].unit[0] == '\0'; /* 1 if a rent is given and the spread is only the catalogue's */
        bool is_stated = is_spread ? n > 0 && strcmp(prices[0].path, "cost.rent") == 0 && !states_spread
                                   : tsim_value_find_path(m->source->root, OWN[i].path) != NULL;
        if (is_stated && !is_set(choice, OWN[i].path) && !tsim_override_of(m->overrides, m->n_overrides, OWN[i].path))
            prices[n++] = (struct tsim_override){
                OWN[i].path, tsim_arena_printf(m->arena, "%.12g%s%s", OWN[i].value, is_spread ? "" : " ", OWN[i].unit),
                NULL};
    }
    return n;
}

static size_t add_own(void *context, const struct tsim_choice *choice,
                      struct tsim_space_setting settings[TSIM_SPACE_MOST_MORE]) {
    const struct machine_prices *m = context;
    struct tsim_override own[TSIM_SPACE_MOST_MORE];
    const struct tsim_node *node;
    const char *id = NULL, *fabric = NULL;
    size_t n = 0;
    for (size_t i = 0; i < choice->n_settings; i++)
        id = strcmp(choice->settings[i].path, "cluster.node") == 0 ? choice->settings[i].text : id;
    if (!id || strpbrk(id, "{}[]:\"'"))
        return 0;
    /* Mistakes in a node's file are told when the node is a candidate. */
    if (tsim_catalogue_load_node(m->arena, id, &node, TSIM_UNHEARD) == TSIM_OK) {
        if (m->adds_fabric && tsim_usual_fabric(m->arena, node, &fabric, TSIM_UNHEARD) == TSIM_OK && fabric)
            own[n++] = (struct tsim_override){"cluster.fabric", fabric, NULL};
        n += own_prices(m, id, node, choice, own + n);
    }
    for (size_t i = 0; i < n; i++)
        settings[i] =
            (struct tsim_space_setting){own[i].path, own[i].value, tsim_text_json(m->arena, own[i].value), NULL};
    return n;
}

void tsim_space_of_machines(struct tsim_arena *arena, const struct tsim_scenario_source *source,
                            const struct tsim_override *overrides, size_t n_overrides, bool has_fabrics,
                            const struct tsim_space *space, struct tsim_space *result) {
    struct machine_prices m = {arena, source, overrides, n_overrides,
                               has_fabrics && !tsim_space_varies(space, "cluster.fabric")};
    tsim_space_add(arena, space, add_own, &m, result);
}

/* ---- which machines ---- */

/* Returns the job on such a node; NULL, with the reason, if it cannot run there. */
static const struct tsim_scenario *try_job(struct tsim_arena *arena, const struct tsim_scenario_source *source,
                                           const struct tsim_override *overrides, size_t n, const char *node,
                                           const char *fabric, const char **reason) {
    struct tsim_override *all = TSIM_NEW_ARRAY(arena, n + 3 + TSIM_SPACE_MOST_MORE, struct tsim_override);
    const struct machine_prices prices = {arena, source, overrides, n, false};
    const struct tsim_node *named;
    const struct tsim_scenario *job = NULL;
    size_t n_all = n + 3;
    struct tsim_diags diags;
    for (size_t i = 0; i < n; i++)
        all[i] = overrides[i];
    all[n] = (struct tsim_override){"cluster.node", node, NULL};
    all[n + 1] = (struct tsim_override){"cluster.nodes", "1", NULL};
    all[n + 2] = (struct tsim_override){"cluster.fabric", fabric, NULL};
    tsim_diags_init(&diags);
    if (tsim_catalogue_load_node(arena, node, &named, &diags) == TSIM_OK)
        n_all += own_prices(&prices, node, named, NULL, all + n_all);
    enum tsim_status status = tsim_scenario_load_job(arena, source, all, n_all, &job, &diags);
    for (size_t i = 0; status != TSIM_OK && i < diags.n_items && !*reason; i++)
        if (!diags.items[i].is_warning)
            *reason = tsim_arena_strdup(arena, diags.items[i].message);
    tsim_diags_release(&diags);
    return status == TSIM_OK ? job : NULL;
}

const char *tsim_override_of(const struct tsim_override *overrides, size_t n, const char *path) {
    const char *value = NULL;
    for (size_t i = 0; i < n; i++)
        if (strcmp(overrides[i].path, path) == 0)
            value = overrides[i].value;
    return value;
}

static enum tsim_status find_machine(struct tsim_arena *arena, const struct tsim_scenario_source *source,
                                     const struct tsim_override *overrides, size_t n,
                                     struct tsim_catalogue_machine *machine, struct tsim_diags *diags) {
    const struct tsim_node *node;
    TSIM_TRY(tsim_catalogue_load_node(arena, machine->node, &node, diags));
    machine->fabric = tsim_override_of(overrides, n, "cluster.fabric");
    if (!machine->fabric)
        TSIM_TRY(tsim_usual_fabric(arena, node, &machine->fabric, diags));
    else if (node->nics == 0)
        machine->fabric = NULL;
    if (!machine->fabric) {
        machine->left_out = "it has no network";
        return TSIM_OK;
    }
    if (!(node->accelerator->rent_usd_per_s > 0) && !(node->accelerator->purchase_usd > 0)) {
        machine->left_out = "no price of it is known";
        return TSIM_OK;
    }
    machine->job = try_job(arena, source, overrides, n, machine->node, machine->fabric, &machine->left_out);
    if (machine->job)
        machine->software = node->accelerator->software ? node->accelerator->software : machine->job->software->name;
    if (machine->job)
        machine->accelerators_per_node = whole_batch_divisor(machine->job, node->accelerators);
    else if (!machine->left_out)
        machine->left_out = "the job cannot run on it";
    return TSIM_OK;
}

static double sustained_per_s(const struct tsim_scenario *job) {
    const struct tsim_accelerator *a = job->cluster.node->accelerator;
    enum tsim_precision precision = job->training.precision;
    return a->peak_flops_per_s[precision] * a->matrix_sustained_frac[precision];
}

/* Returns the price of the rate that long products reach, rented and bought; INFINITY: the machine cannot be had so. */
static double rent_per_flop(const struct tsim_scenario *job) {
    return job->cost.rent_usd_per_s > 0 ? job->cost.rent_usd_per_s / sustained_per_s(job) : (double)INFINITY;
}

static double purchase_per_flop(const struct tsim_scenario *job) {
    return job->cost.purchase_usd > 0 ? job->cost.purchase_usd / sustained_per_s(job) : (double)INFINITY;
}

/* Machines whose products alone cost far more than the cheapest one's, rented and bought. */
static void leave_out_dear(struct tsim_arena *arena, struct tsim_catalogue_machine *machines, size_t n) {
    double least_rent = (double)INFINITY, least_purchase = (double)INFINITY;
    for (size_t i = 0; i < n; i++)
        if (!machines[i].left_out) {
            least_rent = fmin(least_rent, rent_per_flop(machines[i].job));
            least_purchase = fmin(least_purchase, purchase_per_flop(machines[i].job));
        }
    for (size_t i = 0; i < n; i++) {
        if (machines[i].left_out)
            continue;
        double ratio =
            fmin(rent_per_flop(machines[i].job) / least_rent,
                 isfinite(least_purchase) ? purchase_per_flop(machines[i].job) / least_purchase : (double)INFINITY);
        machines[i].is_dear = ratio > TSIM_MOST_PRICE_RATIO;
        if (machines[i].is_dear)
            machines[i].left_out = tsim_arena_printf(
                arena, "a product costs %.2g times as much on it as on the cheapest machine, before anything is lost",
                ratio);
    }
}

enum tsim_status tsim_machines_list(struct tsim_arena *arena, const struct tsim_scenario_source *source,
                                    const struct tsim_override *overrides, size_t n_overrides,
                                    struct tsim_catalogue_machine **machines, size_t *n_machines,
                                    struct tsim_diags *diags) {
    const char *const *ids, *only = tsim_override_of(overrides, n_overrides, "cluster.node");
    size_t n_ids;
    TSIM_TRY(tsim_catalogue_list(arena, TSIM_CATALOGUE_NODES, &ids, &n_ids, diags));
    struct tsim_catalogue_machine *list = TSIM_NEW_ARRAY(arena, n_ids, struct tsim_catalogue_machine);
    *machines = list;
    *n_machines = 0;
    for (size_t i = 0; i < n_ids; i++) {
        if (!tsim_catalogue_file(arena, TSIM_CATALOGUE_NODES, ids[i])) /* an accelerator alone, which no file has */
            continue;
        struct tsim_catalogue_machine *machine = &list[(*n_machines)++];
        *machine = (struct tsim_catalogue_machine){.node = ids[i]};
        if (only && strcmp(only, ids[i]) != 0) {
            machine->is_unasked = true;
            machine->left_out = "another one is asked for";
            continue;
        }
        TSIM_TRY(find_machine(arena, source, overrides, n_overrides, machine, diags));
    }
    leave_out_dear(arena, list, *n_machines);
    return TSIM_OK;
}

/* ---- how many ---- */

int64_t tsim_round_nodes(const struct tsim_scenario *job, double nodes) {
    bool takes_threes = job->training.global_batch_size % 3 == 0;
    for (int64_t power = 1;; power *= 2) {
        if ((double)power >= nodes)
            return power;
        if (takes_threes && power >= 2 && (double)(power / 2 * 3) >= nodes)
            return power / 2 * 3;
    }
}

/* Returns the length of the job in tokens, in whatever unit it is given. */
static double tokens_of(const struct tsim_scenario *job) {
    double length = job->training.length;
    switch (job->training.length_kind) {
    case TSIM_LENGTH_TOKENS:
        return length;
    case TSIM_LENGTH_SAMPLES:
        return length * (double)job->training.sequence_length;
    default:
        return length * (double)job->training.sequence_length * (double)job->training.global_batch_size;
    }
}

double tsim_nodes_for(const struct tsim_catalogue_machine *machine, double days) {
    const struct tsim_scenario *job = machine->job;
    const struct tsim_accelerator *a = job->cluster.node->accelerator;
    double active = tsim_model_active_parameters(job->model), all = tsim_model_parameters(job->model);
    double per_s = sustained_per_s(job) * TSIM_REACHED_FRAC;
    double for_time = TSIM_FLOPS_PER_TOKEN * active * tokens_of(job) / (per_s * days * TSIM_DAY_S);
    double for_memory = TSIM_STATE_BYTES_PER_PARAMETER * all / (TSIM_STATE_MEMORY_FRAC * a->memory_bytes);
    double most = (double)TSIM_MOST_BOUGHT_ACCELERATORS / (double)machine->accelerators_per_node;
    return fmin(most, fmax(for_time, for_memory) / (double)machine->accelerators_per_node);
}

double tsim_affordable_flops(const struct tsim_catalogue_machine *machines, size_t n,
                             const struct tsim_goal_spec *goal) {
    double most = 0, days = goal->deadline_s > 0 ? goal->deadline_s / TSIM_DAY_S : TSIM_DAYS_WITHOUT_DATE;
    for (size_t i = 0; i < n; i++) {
        const struct tsim_scenario *job = machines[i].job;
        if (machines[i].left_out)
            continue;
        double for_money = goal->budget_usd / rent_per_flop(job),
               for_time =
                   TSIM_MOST_BOUGHT_ACCELERATORS * sustained_per_s(job) * TSIM_FIRST_DATE_FRAC * days * TSIM_DAY_S;
        most = fmax(most, TSIM_REACHED_FRAC * fmin(TSIM_FIRST_BUDGET_FRAC * for_money, for_time));
    }
    return most;
}

/* ---- the space ---- */

static const char *joined(struct tsim_arena *arena, const char *text, const char *more) {
    return *text ? tsim_arena_printf(arena, "%s,%s", text, more) : more;
}

static const char *chunks_text(struct tsim_arena *arena, const struct tsim_model *model) {
    const char *text = "1";
    int n = 1;
    for (int64_t chunks = 2; chunks <= model->layers && n < MOST_CHUNKS; chunks++)
        if (model->layers % chunks == 0 || (model->layers + 2) % chunks == 0) {
            text = joined(arena, text, tsim_arena_printf(arena, "%lld", (long long)chunks));
            n++;
        }
    return text;
}

enum tsim_status tsim_clusters_space(struct tsim_arena *arena, const struct tsim_cluster_size *sizes, size_t n,
                                     struct tsim_space *space, struct tsim_diags *diags) {
    const char *software = "", *nodes = "", *counts = "", *each = "", *fabrics = "", *vary[MOST_VARIED];
    for (size_t i = 0; i < n; i++) {
        const struct tsim_catalogue_machine *m = sizes[i].machine;
        nodes = joined(arena, nodes, m->node);
        fabrics = joined(arena, fabrics, m->fabric);
        software = joined(arena, software, m->software);
        counts = joined(arena, counts, tsim_arena_printf(arena, "%lld", (long long)sizes[i].nodes));
        each = joined(arena, each, tsim_arena_printf(arena, "%lld", (long long)m->accelerators_per_node));
    }
    const char *zip =
        tsim_arena_printf(arena, "cluster.node=%s;cluster.nodes=%s;cluster.accelerators_per_node=%s;cluster.fabric=%s",
                          nodes, counts, each, fabrics);
    if (sizes[0].machine->job->software_defaulted)
        zip = tsim_arena_printf(arena, "%s;software=%s", zip, software);
    struct tsim_space_words words = {.vary = vary, .zip = &zip, .n_zip = 1};
    if (sizes[0].machine->job->model->kind == TSIM_MODEL_TRANSFORMER) {
        vary[words.n_vary++] = tsim_arena_printf(arena, "parallelism.virtual_pipeline=%s",
                                                 chunks_text(arena, sizes[0].machine->job->model));
        vary[words.n_vary++] = "parallelism.sequence=true";
        vary[words.n_vary++] = "training.micro_batch_size=1,2,4";
    }
    return tsim_space_read(arena, NULL, &words, space, diags);
}
