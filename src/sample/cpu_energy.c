/* SPDX-License-Identifier: Apache-2.0 */
#include "sample/cpu_energy.h"

#include <math.h>

#include "base/arithmetic.h"
#include "base/clock.h"
#include "base/unknown.h"

#define STEP_NS (200 * NS_PER_MS)

void cpu_energy_add(struct cpu_energy *energy, const struct energy_point *point, bool is_last)
{
    const struct energy_point *last = &energy->last;
    double seconds = (double)(point->now_ns - last->now_ns) / NS_PER_SECOND, uj, busy_ns, share;

    if (!is_known(point->energy_uj) || !is_known(point->job_ns) || !is_known(point->busy_ns))
        return;
    if (!energy->has_begun) {
        energy->has_begun = true;
        energy->last = *point;
        return;
    }
    if ((point->now_ns - last->now_ns < STEP_NS && !is_last) || seconds <= 0)
        return;
    uj = (double)sub_floor0(point->energy_uj, last->energy_uj);
    busy_ns = (double)sub_floor0(point->busy_ns, last->busy_ns);
    share = (double)sub_floor0(point->job_ns, last->job_ns);
    /* The machine's ticks lag behind: the job may seem to have used more than the whole
     * machine. */
    share = share > 0 ? share / fmax(busy_ns, share) : 0;
    energy->job_uj += uj * share;
    energy->share_seconds += seconds * share;
    if (point->now_ns - last->now_ns >= STEP_NS &&
        (energy->least_watts <= 0 || uj / 1e6 / seconds < energy->least_watts))
        energy->least_watts = uj / 1e6 / seconds;
    energy->last = *point;
}

double cpu_energy_low_uj(const struct cpu_energy *energy)
{
    if (energy->least_watts <= 0) /* the power at rest is unknown */
        return 0;
    return fmax(0, energy->job_uj - energy->least_watts * 1e6 * energy->share_seconds);
}
