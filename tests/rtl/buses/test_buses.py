"""The core's buses as cocotbext-axi's models of an AXI4 memory and an AXI4-Lite master see them.

Programs are those of fettle-vta-program-files; the memory must be left as the simulator left it,
however the memory and the master dawdle.
"""

import itertools
import json
import os
import pathlib
import random

import cocotb
from cocotb.clock import Clock
from cocotb.triggers import ClockCycles, with_timeout
from cocotbext.axi import AxiBus, AxiLiteBus, AxiLiteMaster, AxiRam, AxiSlave, MemoryRegion

PROGRAMS = pathlib.Path(os.environ["FETTLE_BUS_PROGRAMS"])
START, STOP, DONE = 1, 2, 2
# fpga/rtl/README.md
CONTROL, CYCLES, COUNT, ADDRESS, ERRORS, MAGIC, IDENTITY = 0x00, 0x04, 0x08, 0x0C, 0x28, 0x3C, 0x40
READ_FAILED = 1
HASH = bytes(range(1, 33))
MEMORY_BYTES = 1 << 29

AXI_LITE = {
    "aw": ("valid", "ready", "addr", "prot"),
    "w": ("valid", "ready", "data", "strb"),
    "b": ("valid", "ready", "resp"),
    "ar": ("valid", "ready", "addr", "prot"),
    "r": ("valid", "ready", "data", "resp"),
}
AXI_BURST = ("id", "len", "size", "burst", "cache", "lock", "qos")


def name_ports(dut):
    """Verilator 5.006 has the top module's ports twice, and a search finds those that it overwrites.

    A port that was asked for by its name is the right one, and stays it.
    """
    for prefix, more in (("s_axi", {}), ("m_axi", {"aw": AXI_BURST, "ar": AXI_BURST})):
        for channel, fields in AXI_LITE.items():
            for field in (*fields, *more.get(channel, ())):
                getattr(dut, f"{prefix}_{channel}{field}", None)
    for field in ("m_axi_wlast", "m_axi_bid", "m_axi_rid", "m_axi_rlast"):
        getattr(dut, field)


async def reset(dut):
    name_ports(dut)
    dut.configuration_hash.value = int.from_bytes(HASH, "little")
    dut.resetn.value = 0
    cocotb.start_soon(Clock(dut.clk, 10, units="ns").start())
    await ClockCycles(dut.clk, 5)
    dut.resetn.value = 1
    await ClockCycles(dut.clk, 5)


def registers_of(dut):
    bus = AxiLiteBus.from_prefix(dut, "s_axi")
    return AxiLiteMaster(bus, dut.clk, dut.resetn, reset_active_level=False)


def dawdle(dut, channels, chance):
    """Each channel pauses in that share of the cycles, independent of the others."""
    for place, channel in enumerate(channels):
        source = random.Random(f"{place} {chance}")
        channel.set_pause_generator(source.random() < chance for _ in itertools.count())


def channels_of(*interfaces):
    """The sides of channels that a model sets the pace of, and those that it answers on."""
    for interface in interfaces:
        for name in ("aw_channel", "w_channel", "b_channel", "ar_channel", "r_channel"):
            if hasattr(interface, name):
                yield getattr(interface, name)


async def start(registers, program):
    await registers.write_dword(COUNT, program["instructions"])
    await registers.write_dword(ADDRESS, program["stream"])
    await registers.write_dword(CONTROL, START)


async def until_done(registers):
    while not await registers.read_dword(CONTROL) & DONE:
        pass


async def run_programs(dut, memory_pauses, register_pauses):
    await reset(dut)
    registers = registers_of(dut)
    ram = AxiRam(
        AxiBus.from_prefix(dut, "m_axi"), dut.clk, dut.resetn, reset_active_level=False, size=MEMORY_BYTES
    )
    dawdle(dut, channels_of(ram.write_if, ram.read_if), memory_pauses)
    dawdle(dut, channels_of(registers.write_if, registers.read_if), register_pauses)
    programs = json.loads((PROGRAMS / "programs.json").read_text())
    assert programs
    for program in programs:
        before = (PROGRAMS / f"{program['name']}.in").read_bytes()
        after = (PROGRAMS / f"{program['name']}.out").read_bytes()
        ram.write(program["base"], before)
        await start(registers, program)
        await with_timeout(until_done(registers), 20, "ms")
        assert await registers.read_dword(ERRORS) == 0
        assert await registers.read_dword(CYCLES) > program["instructions"]
        left = ram.read(program["base"], len(after))
        wrong = [i for i, (a, b) in enumerate(zip(left, after)) if a != b] if left != after else []
        assert left == after, f"program {program['name']}: {len(wrong)} bytes differ, the first at {wrong[0]}"


@cocotb.test()
async def programs_over_a_prompt_memory(dut):
    await run_programs(dut, 0.0, 0.0)


@cocotb.test()
async def programs_over_a_memory_and_a_master_that_dawdle(dut):
    await run_programs(dut, 0.4, 0.5)


@cocotb.test()
async def programs_over_a_memory_that_hardly_answers(dut):
    await run_programs(dut, 0.85, 0.0)


@cocotb.test()
async def registers_say_who_it_is_and_keep_what_was_written(dut):
    await reset(dut)
    registers = registers_of(dut)
    dawdle(dut, channels_of(registers.write_if, registers.read_if), 0.5)
    assert await registers.read_dword(MAGIC) == 0x46544C31
    assert bytes((await registers.read(IDENTITY, 32)).data) == HASH
    # Writes and reads under way at once, and bytes by strobes.
    tasks = [cocotb.start_soon(registers.write_dword(COUNT + 4 * i, 0x01020300 + i)) for i in range(7)]
    reads = [cocotb.start_soon(registers.read_dword(MAGIC)) for _ in range(7)]
    for task in tasks:
        await task
    for read in reads:
        assert await read == 0x46544C31
    assert [await registers.read_dword(COUNT + 4 * i) for i in range(7)] == [0x01020300 + i for i in range(7)]
    await registers.write(ADDRESS + 1, b"\xaa\xbb")
    assert await registers.read_dword(ADDRESS) == 0x01BBAA01
    # What is only read stays.
    await registers.write_dword(MAGIC, 0)
    assert await registers.read_dword(MAGIC) == 0x46544C31


@cocotb.test()
async def an_error_of_the_memory_is_told_and_the_next_program_runs(dut):
    await reset(dut)
    registers = registers_of(dut)
    memory = MemoryRegion(MEMORY_BYTES)
    slave = AxiSlave(
        AxiBus.from_prefix(dut, "m_axi"), dut.clk, dut.resetn, target=memory, reset_active_level=False
    )
    program = json.loads((PROGRAMS / "programs.json").read_text())[0]
    image = (PROGRAMS / f"{program['name']}.in").read_bytes()
    await memory.write(program["base"], image)
    # Instructions from where there is no memory.
    await start(registers, {"instructions": 1, "stream": MEMORY_BYTES})
    await ClockCycles(dut.clk, 400)
    assert await registers.read_dword(ERRORS) & READ_FAILED
    await registers.write_dword(CONTROL, STOP)
    await ClockCycles(dut.clk, 400)
    assert not await registers.read_dword(CONTROL) & 1
    await start(registers, program)
    await with_timeout(until_done(registers), 20, "ms")
    assert await registers.read_dword(ERRORS) == 0
    after = (PROGRAMS / f"{program['name']}.out").read_bytes()
    assert bytes(await memory.read(program["base"], len(after))) == after
    assert slave is not None
