/* The trained parameters of layers whose model is frozen. */
#include "model/adapter.h"
#include "model/model.h"
#include "model/operator_builders.h"

/* In layers with experts a feed-forward block's products are those of the experts, which adapters leave out. */
double tsim_layer_adapter_parameters(const struct tsim_scenario *sc, enum tsim_part part) {
    const struct tsim_layer_kind *kind = tsim_layer_kind(part);
    struct tsim_op_shape z = tsim_layer_shape(sc, part);
    if (tsim_layer_is_frozen(sc, part)) /* a tower has none */
        return 0;
    double parameters = kind->mixer && kind->mixer->adapter_parameters ? kind->mixer->adapter_parameters(&z)
                                                                       : tsim_attention_adapter_parameters(&z);
    if (kind->whole || kind->feed_forward == &tsim_dense_feed_forward)
        parameters += tsim_adapters_parameters(&z, tsim_adapters_of(&z, TSIM_PRODUCT_UP)) +
                      tsim_adapters_parameters(&z, tsim_adapters_of(&z, TSIM_PRODUCT_DOWN));
    return parameters;
}

double tsim_left_inputs_bytes(const struct tsim_scenario *sc, enum tsim_part part) {
    struct tsim_op_shape z = tsim_layer_shape(sc, part);
    bool shares_norm = z.model->parallel_block && !z.model->parallel_norms;
    if (!tsim_quantized_keep_inputs(sc) || !sc->software->keeps_graph || tsim_layer_is_frozen(sc, part))
        return 0;
    return z.t * ((shares_norm ? 1 : 2) * z.h + z.q + z.f) * z.element_bytes;
}

double tsim_model_adapter_parameters(const struct tsim_scenario *sc) {
    struct tsim_parts layers = tsim_model_layers(sc->model, 0, sc->model->layers);
    struct tsim_scenario whole = *sc;
    double parameters = 0;
    whole.parallelism.tensor = 1;
    for (int part = 0; part < TSIM_N_PARTS; part++)
        if (layers.times[part] > 0 && tsim_is_frozen(sc))
            parameters += layers.times[part] * tsim_layer_adapter_parameters(&whole, (enum tsim_part)part);
    return parameters;
}
