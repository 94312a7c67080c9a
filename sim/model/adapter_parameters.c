/* The trained parameters of layers whose model is frozen. */
#include "model/adapter.h"
#include "model/model.h"
#include "model/operator_builders.h"

double tsim_layer_adapter_parameters(const struct tsim_scenario *sc, enum tsim_part part) {
    const struct tsim_layer_kind *kind = tsim_layer_kind(part);
    struct tsim_op_shape z = tsim_layer_shape(sc, part);
    if (tsim_layer_is_frozen(sc, part)) /* a tower has none */
        return 0;
    double parameters = kind->mixer && kind->mixer->adapter_parameters ? kind->mixer->adapter_parameters(&z)
                                                                       : tsim_attention_adapter_parameters(&z);
    const struct tsim_feed_forward *behind = kind->whole ? &tsim_dense_feed_forward : kind->feed_forward;
    if (behind->adapter_parameters)
        parameters += behind->adapter_parameters(&z);
    return parameters + tsim_layer_routed_adapter_parameters(sc, part);
}

double tsim_layer_routed_adapter_parameters(const struct tsim_scenario *sc, enum tsim_part part) {
    const struct tsim_feed_forward *behind = tsim_layer_kind(part)->feed_forward;
    if (!behind || !behind->routed_adapter_parameters)
        return 0;
    struct tsim_op_shape z = tsim_layer_shape(sc, part);
    return behind->routed_adapter_parameters(&z);
}

double tsim_left_inputs_bytes(const struct tsim_scenario *sc, enum tsim_part part) {
    struct tsim_op_shape z = tsim_layer_shape(sc, part);
    bool shares_norm = z.model->parallel_block && !z.model->parallel_norms;
    if (!tsim_quantized_keep_inputs(sc) || !sc->software->keeps_graph || tsim_layer_is_frozen(sc, part))
        return 0;
    return z.t * ((shares_norm ? 1 : 2) * z.h + z.q + z.f) * z.element_bytes;
}

/* Adds up layers, with those of routed experts as often as `of_experts` says. */
static double of_model(const struct tsim_scenario *sc, double of_experts) {
    struct tsim_parts layers = tsim_model_layers(sc->model, 0, sc->model->layers);
    struct tsim_scenario whole = *sc;
    double parameters = 0;
    whole.parallelism.tensor = whole.parallelism.expert_tensor = 1;
    for (int part = 0; part < TSIM_N_PARTS; part++)
        if (layers.times[part] > 0 && tsim_is_frozen(sc))
            parameters += layers.times[part] *
                          (tsim_layer_adapter_parameters(&whole, (enum tsim_part)part) +
                           (of_experts - 1) * tsim_layer_routed_adapter_parameters(&whole, (enum tsim_part)part));
    return parameters;
}

double tsim_model_adapter_parameters(const struct tsim_scenario *sc) {
    return of_model(sc, (double)sc->parallelism.expert);
}

/* Each of a token's experts takes it through one set of adapters, its own or that of the rank. */
double tsim_model_active_adapter_parameters(const struct tsim_scenario *sc) {
    bool has_experts = sc->model->experts.count > 0;
    return of_model(sc, has_experts ? (double)sc->model->experts.active / tsim_routed_adapter_sets(sc) : 1);
}
