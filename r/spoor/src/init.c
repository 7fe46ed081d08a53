/* SPDX-License-Identifier: Apache-2.0 */
#include "spoor.h"

#include <R_ext/Rdynload.h>

static const R_CallMethodDef methods[] = {
    { "spoor_open", (DL_FUNC)&spoor_open, 2 },
    { "spoor_send", (DL_FUNC)&spoor_send, 2 },
    { "spoor_receive", (DL_FUNC)&spoor_receive, 2 },
    { "spoor_close", (DL_FUNC)&spoor_close, 1 },
    { "spoor_json", (DL_FUNC)&spoor_json, 1 },
    { "spoor_trim", (DL_FUNC)&spoor_trim, 0 },
    { NULL, NULL, 0 },
};

void R_init_spoor(DllInfo *library)
{
    R_registerRoutines(library, NULL, methods, NULL, NULL);
    R_useDynamicSymbols(library, FALSE);
}
