/* What an emulated board's programmable logic does, as QEMU's device (fettle_pl.c) calls it. In C:
 * it lies between QEMU and this project's C++ (emulated_pl.h). A shared library gives it, so that
 * QEMU need not be built again with each change of the simulator.
 *
 * All but work() may be called from any thread and return at once. */
#ifndef FETTLE_QEMU_PL_CALLS_H
#define FETTLE_QEMU_PL_CALLS_H

#include <stdbool.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

/* The board's memory as the logic's master port sees it. Called from work()'s thread and by
 * write(). False where there is none. */
typedef struct FettlePlBus {
  void* opaque;
  bool (*read)(void* opaque, uint64_t address, void* to, uint64_t bytes);
  bool (*write)(void* opaque, uint64_t address, const void* from, uint64_t bytes);
} FettlePlBus;

typedef struct FettlePl FettlePl;

typedef struct FettlePlCalls {
  FettlePl* (*create)(const FettlePlBus* bus); /* for good */
  void (*work)(FettlePl* pl); /* runs streams, on a thread of its own; never returns */

  /* Configuration. `words` are 32-bit words as the PCAP gets them, in memory little-endian. */
  void (*erase)(FettlePl* pl); /* PROG_B is low: nothing is configured */
  void (*configure)(FettlePl* pl, const void* words, uint64_t bytes);
  bool (*configured)(FettlePl* pl); /* DONE is high */

  /* Registers, at offsets from the window's beginning, all of 32 bits. 0 where nothing answers. */
  uint32_t (*read)(FettlePl* pl, uint32_t offset);
  void (*write)(FettlePl* pl, uint32_t offset, uint32_t value);

  /* Faults for tests; the board itself has no way to them. */
  void (*reset)(FettlePl* pl);         /* the clock's reset: registers and run, not the design */
  void (*hang)(FettlePl* pl, bool on); /* while on, no stream ends by itself */
} FettlePlCalls;

#define FETTLE_PL_INTERFACE 1
/* Null for another version of this interface. */
const FettlePlCalls* fettle_pl_calls(uint32_t interface_version);

#ifdef __cplusplus
}
#endif

#endif
