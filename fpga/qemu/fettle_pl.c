/*
 * The programmable logic of a Zynq-7000 with an accelerator in it, as a device of QEMU: a window of
 * registers on M_AXI_GP0, and a master that reaches the board's DRAM. What it does is in a shared
 * library (fettle_pl_calls.h). The device configuration interface (devcfg) feeds it the bitstream.
 *
 * Copied into QEMU's tree as hw/misc/fettle_pl.c when the emulator is built.
 */
#include "qemu/osdep.h"
#include <dlfcn.h>
#include "exec/address-spaces.h"
#include "hw/boards.h"
#include "hw/misc/fettle_pl.h"
#include "hw/misc/fettle_pl_calls.h"
#include "hw/qdev-properties.h"
#include "hw/sysbus.h"
#include "qapi/error.h"
#include "qemu/log.h"
#include "qemu/module.h"
#include "qemu/rcu.h"
#include "qemu/thread.h"

#define WINDOW_BYTES 0x4000

OBJECT_DECLARE_SIMPLE_TYPE(FettlePlState, FETTLE_PL)

struct FettlePlState {
    SysBusDevice parent_obj;

    MemoryRegion window;
    char *library;
    bool hang;
    const FettlePlCalls *calls; /* null until realized */
    FettlePl *pl;
    QemuThread worker;
};

/* The coherent port (ACP) reaches DRAM from address 0 on, and nothing else here. */
static bool is_dram(uint64_t address, uint64_t bytes)
{
    return address <= current_machine->ram_size && bytes <= current_machine->ram_size - address;
}

static bool bus_read(void *opaque, uint64_t address, void *to, uint64_t bytes)
{
    return is_dram(address, bytes) &&
           address_space_read(&address_space_memory, address, MEMTXATTRS_UNSPECIFIED, to, bytes) ==
               MEMTX_OK;
}

static bool bus_write(void *opaque, uint64_t address, const void *from, uint64_t bytes)
{
    return is_dram(address, bytes) &&
           address_space_write(&address_space_memory, address, MEMTXATTRS_UNSPECIFIED, from,
                               bytes) == MEMTX_OK;
}

static void *run_streams(void *opaque)
{
    FettlePlState *s = opaque;

    rcu_register_thread();
    s->calls->work(s->pl);
    rcu_unregister_thread();
    return NULL;
}

static uint64_t window_read(void *opaque, hwaddr offset, unsigned size)
{
    FettlePlState *s = opaque;

    if (!s->calls->configured(s->pl)) {
        /* On a board this access never ends. */
        qemu_log_mask(LOG_GUEST_ERROR, "fettle-pl: read of 0x%x, and nothing is configured\n",
                      (unsigned)offset);
        return 0;
    }
    return s->calls->read(s->pl, offset);
}

static void window_write(void *opaque, hwaddr offset, uint64_t value, unsigned size)
{
    FettlePlState *s = opaque;

    if (!s->calls->configured(s->pl)) {
        qemu_log_mask(LOG_GUEST_ERROR, "fettle-pl: write to 0x%x, and nothing is configured\n",
                      (unsigned)offset);
        return;
    }
    s->calls->write(s->pl, offset, value);
}

static const MemoryRegionOps window_ops = {
    .read = window_read,
    .write = window_write,
    .endianness = DEVICE_LITTLE_ENDIAN,
    .valid = { .min_access_size = 4, .max_access_size = 4 },
};

/* What devcfg calls: nothing where the machine has no such device. */
static FettlePlState *fettle_pl(void)
{
    Object *found = object_resolve_path_type("", TYPE_FETTLE_PL, NULL);
    FettlePlState *s = found ? FETTLE_PL(found) : NULL;

    return s && s->calls ? s : NULL;
}

void fettle_pl_erase(void)
{
    FettlePlState *s = fettle_pl();

    if (s) {
        s->calls->erase(s->pl);
    }
}

void fettle_pl_configure(const void *words, uint64_t bytes)
{
    FettlePlState *s = fettle_pl();

    if (s) {
        s->calls->configure(s->pl, words, bytes);
    }
}

bool fettle_pl_configured(void)
{
    FettlePlState *s = fettle_pl();

    return s && s->calls->configured(s->pl);
}

static void fettle_pl_realize(DeviceState *dev, Error **errp)
{
    FettlePlState *s = FETTLE_PL(dev);
    const FettlePlBus bus = { .opaque = s, .read = bus_read, .write = bus_write };
    const FettlePlCalls *(*calls_of)(uint32_t);
    void *library;

    if (!s->library) {
        error_setg(errp, "fettle-pl: no library (-global fettle-pl.library=FILE)");
        return;
    }
    library = dlopen(s->library, RTLD_NOW | RTLD_LOCAL);
    if (!library) {
        error_setg(errp, "fettle-pl: %s", dlerror());
        return;
    }
    calls_of = (const FettlePlCalls *(*)(uint32_t))dlsym(library, "fettle_pl_calls");
    s->calls = calls_of ? calls_of(FETTLE_PL_INTERFACE) : NULL;
    if (!s->calls) {
        error_setg(errp, "fettle-pl: %s is another version's", s->library);
        return;
    }
    s->pl = s->calls->create(&bus);
    s->calls->hang(s->pl, s->hang);
    qemu_thread_create(&s->worker, "fettle-pl", run_streams, s, QEMU_THREAD_DETACHED);
}

static void fettle_pl_init(Object *obj)
{
    FettlePlState *s = FETTLE_PL(obj);

    memory_region_init_io(&s->window, obj, &window_ops, s, "fettle-pl", WINDOW_BYTES);
    sysbus_init_mmio(SYS_BUS_DEVICE(obj), &s->window);
}

/* The machine's reset: a board's PS takes the PL's configuration with it. */
static void fettle_pl_machine_reset(DeviceState *dev)
{
    FettlePlState *s = FETTLE_PL(dev);

    s->calls->erase(s->pl);
}

static bool get_hang(Object *obj, Error **errp)
{
    return FETTLE_PL(obj)->hang;
}

static void set_hang(Object *obj, bool on, Error **errp)
{
    FettlePlState *s = FETTLE_PL(obj);

    s->hang = on;
    if (s->calls) {
        s->calls->hang(s->pl, on);
    }
}

static void set_reset(Object *obj, bool on, Error **errp)
{
    FettlePlState *s = FETTLE_PL(obj);

    if (on && s->calls) {
        s->calls->reset(s->pl);
    }
}

static void set_erase(Object *obj, bool on, Error **errp)
{
    FettlePlState *s = FETTLE_PL(obj);

    if (on && s->calls) {
        s->calls->erase(s->pl);
    }
}

static Property fettle_pl_properties[] = {
    DEFINE_PROP_STRING("library", FettlePlState, library),
    DEFINE_PROP_END_OF_LIST(),
};

static void fettle_pl_class_init(ObjectClass *klass, void *data)
{
    DeviceClass *dc = DEVICE_CLASS(klass);

    dc->realize = fettle_pl_realize;
    dc->reset = fettle_pl_machine_reset;
    dc->user_creatable = false; /* the machine makes the one that there is */
    device_class_set_props(dc, fettle_pl_properties);
    /* Faults, from the monitor: qom-set /machine/fettle-pl hang on */
    object_class_property_add_bool(klass, "hang", get_hang, set_hang);
    object_class_property_add_bool(klass, "reset", NULL, set_reset);
    object_class_property_add_bool(klass, "erase", NULL, set_erase);
}

static const TypeInfo fettle_pl_info = {
    .name = TYPE_FETTLE_PL,
    .parent = TYPE_SYS_BUS_DEVICE,
    .instance_size = sizeof(FettlePlState),
    .instance_init = fettle_pl_init,
    .class_init = fettle_pl_class_init,
};

static void fettle_pl_register_types(void)
{
    type_register_static(&fettle_pl_info);
}

type_init(fettle_pl_register_types)
