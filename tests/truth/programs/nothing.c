/* SPDX-License-Identifier: Apache-2.0 */
/* nothing - a job that exits at once: its CPU time is less than a tick. */
#include "ledger.h"

int main(void)
{
    ledger_open();
    ledger_set(PROCESSES, 1);
    ledger_add_own_cpu();
    ledger_close();
    return 0;
}
