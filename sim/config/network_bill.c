#include "config/network_bill.h"

enum { MOST_TIERS = 5 };

static int tiers_for(double switch_ports, double ports) {
    double most = switch_ports;
    int tiers = 1;
    for (; tiers < MOST_TIERS && ports > most; tiers++)
        most *= switch_ports / 2;
    return tiers;
}

static double oversubscription(const struct tsim_fabric *fabric) {
    return fabric->n_tiers > 0 ? fabric->tiers[0].oversubscription : fabric->oversubscription;
}

struct tsim_network_bill tsim_network_bill(const struct tsim_fabric *fabric, double ports) {
    struct tsim_network_bill bill = {.tiers = 0};
    if (!fabric || fabric->switch_ports < 2 || !(fabric->switch_usd > 0) || !(ports > 0))
        return bill;
    bill.tiers = tiers_for((double)fabric->switch_ports, ports);
    double above = (bill.tiers - 1) / oversubscription(fabric);
    bill.switches = ports * (1 + 2 * above) / (double)fabric->switch_ports;
    bill.links = ports * (1 + above);
    bill.usd = bill.switches * fabric->switch_usd + bill.links * fabric->link_usd;
    return bill;
}
