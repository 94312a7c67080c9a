/* network_bill.h - what a cluster's network is made of, and what that costs: switches and links by the tiers that its ports
 * need. NICs are in the price of a node.
 *
 *   tiers    t: the least of which a folded Clos network of switches with r ports has ports enough: r, r^2 / 2, r^3 / 4, ...
 *            (Al-Fares et al. 2008, "A Scalable, Commodity Data Center Network Architecture")
 *   a port   takes 1 + 2 (t - 1) / o ports of switches and 1 + (t - 1) / o links, with an oversubscription o above the
 *            lowest switches, of the fabric or of its lowest tier
 *
 * Switches are counted in parts: 1,024 ports of 64-port switches in two tiers are 48 switches and 2,048 links. */
#ifndef TSIM_CONFIG_NETWORK_BILL_H
#define TSIM_CONFIG_NETWORK_BILL_H

#include "config/catalogue.h"

struct tsim_network_bill {
    int tiers; /* 0: nothing is known of it, or one node needs none */
    double switches, links, usd;
};

struct tsim_network_bill tsim_network_bill(const struct tsim_fabric *fabric, double ports);

#endif
