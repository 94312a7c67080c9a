#include "step/pass/host_stream.h"

#include <math.h>

static tsim_tick later_of(tsim_tick a, tsim_tick b) {
    return a > b ? a : b;
}

static tsim_tick earlier_of(tsim_tick a, tsim_tick b) {
    return a < b ? a : b;
}

/* A launch waits for room in the queue, that is, until the kernel `ahead` of it begins. If each launch waits for the
 * kernel before it to end, there is no room. */
tsim_tick tsim_host_follow(struct tsim_host_stream *host, struct tsim_launch launch, tsim_tick free) {
    host->free_at = later_of(host->free_at, host->meets ? free : free - host->ahead);
    host->meets = launch.is_awaited;
    host->begin = host->free_at;
    host->free_at += launch.first;
    tsim_tick begin = later_of(host->free_at, free);
    host->free_at += launch.later;
    return later_of(begin, host->free_at - (host->ahead > 0 ? launch.before_last : 0));
}

tsim_tick tsim_host_launch(const struct tsim_engine *engine, struct tsim_host_stream *host,
                           const struct tsim_played *played, tsim_tick free) {
    bool launches = host->is_there && !host->is_launched;
    host->is_launched = false;
    if (!launches)
        return free;
    const struct tsim_launch launch = {tsim_played_ticks(engine, played->host_s),
                                       tsim_played_ticks(engine, played->later_host_s),
                                       tsim_played_ticks(engine, played->before_last_s), played->is_awaited};
    return tsim_host_follow(host, launch, free);
}

tsim_tick tsim_host_lead(const struct tsim_host_stream *host, tsim_tick now) {
    return now - host->free_at < host->ahead ? now - host->free_at : host->ahead;
}

/* ---- played once ---- */

static void apply(const struct tsim_launch_map *map, const tsim_tick at[TSIM_N_OF_PASS],
                  tsim_tick after[TSIM_N_OF_PASS]) {
    for (int i = 0; i < TSIM_N_OF_PASS; i++)
        after[i] = earlier_of(TSIM_LAST_TICK, later_of(map->after[i][TSIM_COMPUTE] + at[TSIM_COMPUTE],
                                                       map->after[i][TSIM_HOST] + at[TSIM_HOST]));
}

void tsim_launch_map_apply(const struct tsim_launch_map *map, double times, tsim_tick at[TSIM_N_OF_PASS]) {
    tsim_tick after[TSIM_N_OF_PASS];
    int64_t left = (int64_t)times;
    double rest = times - (double)left;
    for (; left > 0; left--) {
        apply(map, at, after);
        tsim_tick longer[TSIM_N_OF_PASS] = {after[TSIM_COMPUTE] - at[TSIM_COMPUTE], after[TSIM_HOST] - at[TSIM_HOST]};
        bool repeats = longer[TSIM_COMPUTE] == longer[TSIM_HOST]; /* and all that follow are like this one */
        int64_t n = repeats ? left : 1;
        for (int i = 0; i < TSIM_N_OF_PASS; i++)
            at[i] = (double)at[i] + (double)n * (double)longer[i] < (double)TSIM_LAST_TICK ? at[i] + n * longer[i]
                                                                                           : TSIM_LAST_TICK;
        if (repeats)
            break;
    }
    if (!(rest > 0))
        return;
    apply(map, at, after);
    for (int i = 0; i < TSIM_N_OF_PASS; i++)
        at[i] += (tsim_tick)llround(rest * (double)(after[i] - at[i]));
}
