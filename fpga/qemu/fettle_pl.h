/* The programmable logic as QEMU's devcfg and machine know it (fettle_pl.c). Copied into QEMU's
 * tree as include/hw/misc/fettle_pl.h; fettle_pl_calls.h beside it. */
#ifndef HW_MISC_FETTLE_PL_H
#define HW_MISC_FETTLE_PL_H

#define TYPE_FETTLE_PL "fettle-pl"

void fettle_pl_erase(void);
void fettle_pl_configure(const void* words, uint64_t bytes);
bool fettle_pl_configured(void);

#endif
