/* scenario_data.c - the input pipeline: `data`. */
#include "config/draft/scenario_draft.h"
#include "config/files/catalogue_read.h"

#include <string.h>

#define DEFAULT_STORAGE "nvme"

enum { TOKEN_BYTES_STORED = 4, TOKEN_BYTES_ON_DEVICE = 8, PIXEL_BYTES_ON_DEVICE = 4, RECORD_BYTES = 4 };

/* clang-format off */
static const struct tsim_word ACCESSES[] = {
    {"random", TSIM_ACCESS_RANDOM}, {"sequential", TSIM_ACCESS_SEQUENTIAL}, {NULL, 0}};

static void read_storage(struct tsim_reader *reader, const struct tsim_value *value, const char *path, void *field);

#define AT(member) offsetof(struct tsim_data_spec, member)
#define QUANTITY_KEY(name_, dimension_, member_, help_)                                                                \
    .key = (name_), .kind = TSIM_KEY_QUANTITY, .dimension = (dimension_), .offset = AT(member_), .help = (help_)
#define COUNT_KEY(name_, member_, max_, default_, help_)                                                               \
    .key = (name_), .kind = TSIM_KEY_INT, .offset = AT(member_), .max = (max_), .default_text = (default_), .help = (help_)

static const struct tsim_key DATA_KEYS[] = {
    {.key = "storage", .kind = TSIM_KEY_CUSTOM, .offset = AT(storage), .read = read_storage, .write = tsim_storage_reference_write,
     .help = "id, path or mapping: what the samples are read from; default: " DEFAULT_STORAGE},
    {.key = "network", .kind = TSIM_KEY_ENUM, .offset = AT(network), .words = tsim_storage_networks, .default_text = "own",
     .help = "network that leads to the storage: own; or nics: reading shares the NICs with the steps"},
    {.key = "access", .kind = TSIM_KEY_ENUM, .offset = AT(access), .words = ACCESSES, .default_text = "random",
     .help = "random: sample by sample in shuffled order; sequential: large files, a batch at a time (the default with embedding tables)"},
    {QUANTITY_KEY("sample_size", TSIM_BYTES, sample_bytes,
                  "bytes read per sample; default: 4 a token, a byte for each value of a picture, 4 for each of a record"),
     .is_positive = true, .unit = "B"},
    {QUANTITY_KEY("sample_cpu_time", TSIM_TIME_S, sample_cpu_s,
                  "time to decode, augment or tokenize one sample on one core"), .default_text = "0", .unit = "ms", .max = TSIM_DAY_S},
    {QUANTITY_KEY("transfer_size", TSIM_BYTES, transfer_bytes,
                  "bytes of a sample that go to the accelerator; default: 8 a token, 4 for each value of a picture or record"),
     .is_positive = true, .unit = "B"},
    {COUNT_KEY("workers", workers, 1e4, "8", "processes per node that read and transform"), .is_positive = true},
    {COUNT_KEY("prefetch", prefetch, 1e4, "2", "batches loaded ahead by each worker; 0: a batch is loaded when it is asked for")},
    {QUANTITY_KEY("samples", TSIM_COUNT, samples, "samples of the data set, which make an epoch"),
     .is_positive = true, .is_omitted_when_zero = true},
};
const struct tsim_table tsim_data_table = {DATA_KEYS, sizeof DATA_KEYS / sizeof DATA_KEYS[0], false};
/* clang-format on */

static void read_storage(struct tsim_reader *reader, const struct tsim_value *value, const char *path, void *field) {
    if (!value || (value->is_patch && !tsim_value_find(value, "extends"))) {
        struct tsim_value *root = TSIM_NEW(reader->arena, struct tsim_value);
        struct tsim_document *document = TSIM_NEW(reader->arena, struct tsim_document);
        *document = (struct tsim_document){.arena = reader->arena, .file = "", .text = "", .is_override = true};
        *root = (struct tsim_value){.kind = TSIM_VALUE_MAPPING, .document = document};
        const struct tsim_value *id = tsim_value_new_scalar(reader->arena, value ? value : root, DEFAULT_STORAGE);
        value = tsim_value_merge(reader->arena, id, value);
    }
    tsim_storage_reference_read(reader, value, path, field);
}

void tsim_data_read(struct tsim_reader *reader, const struct tsim_value *value, const char *path, void *field) {
    struct tsim_data_spec *data = &((struct tsim_draft *)field)->scenario.data;
    if (value)
        data->has = tsim_schema_read_mapping(reader, &tsim_data_table, value, path, data);
}

void tsim_data_write(struct tsim_writer *writer, const char *key, const char *path, const void *field) {
    const struct tsim_data_spec *data = &((const struct tsim_draft *)field)->scenario.data;
    if (!data->has)
        return;
    tsim_writer_mapping(writer, key, &tsim_data_table, path, data);
}

/* ---- defaults ---- */

static double values_of_sample(const struct tsim_model *m) {
    for (size_t i = 0; i < m->n_list; i++)
        if (m->list[i].is_judge) /* the other network's input is made up */
            return (double)(m->list[i].in * m->list[i].in_area);
    if (m->image.size > 0)
        return (double)(m->image.size * m->image.size * m->image.channels);
    return (double)(m->input_channels * m->input_height * m->input_width);
}

/* Bytes of a sample as it is stored and as it goes to the accelerator: ids of tokens in 4 and 8 bytes; values of a
 * picture in 1 and 4; of a record (Criteo's) features and rows looked up, 4 each. */
static void sample_sizes(const struct tsim_scenario *sc, double *stored, double *on_device) {
    const struct tsim_model *m = sc->model;
    double values = values_of_sample(m);
    for (size_t i = 0; i < m->n_tables; i++)
        values += (double)m->tables[i].pooling;
    if (values > 0) {
        *stored = (m->n_tables > 0 ? RECORD_BYTES : 1) * values;
        *on_device = PIXEL_BYTES_ON_DEVICE * values;
        return;
    }
    *stored = TOKEN_BYTES_STORED * (double)sc->training.sequence_length;
    *on_device = TOKEN_BYTES_ON_DEVICE * (double)sc->training.sequence_length;
}

void tsim_draft_resolve_data(struct tsim_draft *draft) {
    const struct tsim_scenario *sc = &draft->scenario;
    struct tsim_data_spec *data = &draft->scenario.data;
    double stored, on_device;
    if (!data->has)
        return;
    sample_sizes(sc, &stored, &on_device);
    if (!(data->sample_bytes > 0))
        data->sample_bytes = stored;
    if (!(data->transfer_bytes > 0))
        data->transfer_bytes = on_device;
    if (sc->model->n_tables > 0 && !tsim_draft_has(draft, "data.access"))
        data->access = TSIM_ACCESS_SEQUENTIAL; /* records are shuffled in blocks of many */
}

/* ---- what must agree, and what has no effect ---- */

double tsim_data_host_bytes(const struct tsim_scenario *sc) {
    const struct tsim_data_spec *data = &sc->data;
    double batches = (double)(data->prefetch > 0 ? data->prefetch * data->workers : 1);
    return data->has ? batches * (double)sc->training.micro_batch_size * data->transfer_bytes : 0;
}

void tsim_draft_check_data(const struct tsim_draft *draft, struct tsim_reader *reader) {
    const struct tsim_scenario *sc = &draft->scenario;
    double host = sc->cluster.node->host_memory_bytes, buffers = tsim_data_host_bytes(sc);
    char has[40], needs[40];
    if (draft->epochs > 0 && !(sc->data.samples > 0))
        tsim_diag_hint(FAIL_IN(draft, reader, "training.epochs", "epochs of a data set of unknown size"),
                       "data: {samples: ...}, or give tokens, samples or steps");
    if (!sc->data.has)
        return;
    if (host > 0 && buffers > host)
        tsim_diag_hint(FAIL_IN(draft, reader, "data.prefetch", "buffers of %s, but the node has %s of memory",
                               tsim_quantity_human(buffers, TSIM_BYTES, needs, sizeof needs),
                               tsim_quantity_human(host, TSIM_BYTES, has, sizeof has)),
                       "workers x prefetch x micro_batch_size x transfer_size: at most %.0f batches",
                       host / ((double)sc->training.micro_batch_size * sc->data.transfer_bytes));
    if (sc->data.network == TSIM_STORAGE_NICS && sc->cluster.nodes == 1)
        WARN_IN(draft, reader, "data.network", "this has no effect on one node, whose NICs nothing else crosses");
    if (!sc->data.storage->is_shared && sc->data.storage->client_bytes_per_s > 0)
        WARN_IN(draft, reader, "data.storage.client_bandwidth",
                "this has no effect, because the storage is not shared");
}
