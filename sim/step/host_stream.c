#include "step/host_stream.h"

/* A launch waits for room in the queue, that is for the kernel `ahead` of it to begin; where each waits for the kernel
 * before it to end, there is none. */
tsim_tick tsim_host_launch(const struct tsim_engine *engine, struct tsim_host_stream *host,
                           const struct tsim_played *played, tsim_tick free) {
    if (!host->is_there || host->is_launched) {
        host->is_launched = false;
        return free;
    }
    tsim_tick earliest = host->meets ? free : free - host->ahead;
    host->meets = false;
    if (host->free_at < earliest)
        host->free_at = earliest;
    host->begin = host->free_at;
    host->free_at += tsim_played_ticks(engine, played->host_s);
    tsim_tick begin = host->free_at > free ? host->free_at : free;
    host->free_at += tsim_played_ticks(engine, played->later_host_s);
    tsim_tick last = host->free_at - (host->ahead > 0 ? tsim_played_ticks(engine, played->before_last_s) : 0);
    return last > begin ? last : begin;
}

tsim_tick tsim_host_lead(const struct tsim_host_stream *host, tsim_tick now) {
    return now - host->free_at < host->ahead ? now - host->free_at : host->ahead;
}
