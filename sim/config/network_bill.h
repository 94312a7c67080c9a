/* network_bill.h - the parts of a cluster's network and their cost: switches and links by the tiers that its ports
 * need. NICs are in the price of a node.
 *
 *   tiers    t: the least number with which a folded Clos network of switches with r ports has enough ports: r, r^2 /
 *            2, r^3 / 4, ... (Al-Fares et al. 2008, "A Scalable, Commodity Data Center Network Architecture")
 *   a port   takes 1 + 2 (t - 1) / o ports of switches and 1 + (t - 1) / o links, with o the oversubscription above the
 *            lowest switches, of the fabric or of its lowest tier
 *
 * Switches are counted in fractions: 1,024 ports of 64-port switches in two tiers are 48 switches and 2,048 links. */
#pragma once

#include "config/catalogue.h"

struct tsim_network_bill {
    int tiers; /* 0: the fabric's parts are not known, or there is one node */
    double switches, links, usd;
};

struct tsim_network_bill tsim_network_bill(const struct tsim_fabric *fabric, double ports);
