/* routing.h - how many rows of tokens the experts of one rank get, and how many copies of a token leave its node.
 *
 * Symbols: E experts, of which each token picks k; n ranks that share the experts (E/n each); t tokens that each rank
 * routes in a layer. So there are n t k rows among n ranks, t k on average.
 *
 * The slowest rank decides, because the others wait for it in the exchanges. It gets more than the mean:
 *   chance      Each token picks k distinct experts, all equally likely. The rows of a rank are a sum over n t tokens
 *               of hypergeometric picks (k draws, E/n of E are its own), with variance n t k (1/n)(1 - 1/n)(E-k)/(E-1).
 *   popularity  Experts differ: their shares have coefficient of variation c (`experts.imbalance`) around 1/E. A rank's
 *               share is a sum of E/n of them drawn without replacement: relative variance c^2 (n/E)(E - E/n)/(E - 1).
 *
 * Loads add up to the whole, so two ranks correlate with -1/(n-1). The maximum of n equally correlated normals of
 * deviation s is s sqrt(n/(n-1)) M(n), with M(n) that of independent ones (base/normal.h). Together, exactly
 * simplified:
 *
 *   imbalance = 1 + M(n) sqrt( (E-k) / ((E-1) k t)  +  c^2 n / (E-1) )
 *
 * With a capacity factor every expert has a padded buffer of that factor times the mean, and rows beyond it are dropped
 * (Lepikhin et al. 2020, GShard; Fedus et al. 2021, Switch Transformers). The imbalance is then the factor itself.
 *
 * Not modelled: the spread between the experts of one rank, whose products take the mean, and changes of the imbalance
 * in training. */
#pragma once

#include "config/catalogue.h"

/* Returns the rows that the fullest of `ranks` ranks is expected to get, over the mean. The buffers of a capacity
 * factor are padded on a single rank as well. */
double tsim_routing_imbalance(const struct tsim_experts *experts, double ranks, double tokens);

/* Returns the expected number of nodes that hold at least one of a token's experts. With E experts evenly on N nodes it
 * is N (1 - C(E - E/N, k) / C(E, k)). With a node_limit, E and N are those of the nodes from which the token may
 * choose. */
double tsim_routing_nodes(const struct tsim_experts *experts, double nodes);

/* Returns the expected number of ranks that hold at least one of a token's experts, with `on_node` ranks on each node.
 * The formula is the same, with the ranks of the nodes from which the token may choose, and with their experts. */
double tsim_routing_ranks(const struct tsim_experts *experts, double nodes, double on_node);
