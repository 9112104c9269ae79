"""The core's buses against cocotbext-axi's models, which know nothing of ours: registers through an
AXI4-Lite master, a small program through an AXI4 memory, with pauses at random on every channel.
Run by fpga/rtl/bus_test.sh."""
import itertools
import random

import cocotb
from cocotb.clock import Clock
from cocotb.triggers import RisingEdge
from cocotbext.axi import AxiBus, AxiLiteBus, AxiLiteMaster, AxiRam

CONTROL, CYCLES, COUNT, ADDRESS, BASES, ERRORS, IDENTIFICATION, HASH = (
    0x00, 0x04, 0x08, 0x0C, 0x10, 0x28, 0x3C, 0x40)
INP_BASE = 0x14
# What instructions' addresses are added to: of UOP, INP, WGT, ACC, OUT.
BASE = 0x800, 0x1000, 0x3000, 0x4000, 0x7000
UOPS, INPUT, WEIGHTS, BIAS, OUTPUT, PROGRAM = 0x1000, 0x1FC0, 0x4000, 0x4FC0, 0xAF90, 0xE000
ROWS = 300  # of output: a store of 600 beats


def transfer(opcode, memory, sram, dram, x, flags=0, y=1, stride=None):
    """A LOAD or STORE; flags: 1 pop_prev, 2 pop_next, 4 push_prev, 8 push_next."""
    high = y | x << 16 | (x if stride is None else stride) << 32
    return (opcode | flags << 3 | memory << 7 | sram << 10 | dram << 26) | high << 64


def loops(opcode, iter_out, dst, src, high, flags=0):
    """GEMM or ALU over micro-op 0 and iter_out; factors of its outer loop alone."""
    low = opcode | flags << 3 | 0 << 8 | 1 << 21 | iter_out << 35 | 1 << 49
    return low | (dst | src << 22 | high) << 64


def program():
    uops, inputs, weights, bias, output = (
        (at - base) // element for at, base, element in zip(
            (UOPS, INPUT, WEIGHTS, BIAS, OUTPUT), BASE, (4, 16, 256, 64, 16)))
    return [
        transfer(0, 0, 0, uops, 1),
        transfer(0, 3, 0, bias, ROWS // 2, y=2),
        transfer(0, 2, 0, inputs, ROWS),
        transfer(0, 1, 0, weights, 1, flags=8),                # token to compute
        loops(2, ROWS, 1, 1, 0, flags=1),                      # GEMM
        loops(4, ROWS, 1, 1, (3 | 1 << 3 | 6 << 4) << 44, 8),  # ALU SHR imm 6, token to store
        transfer(1, 4, 0, output, ROWS, flags=1 | 4),          # STORE, token to compute
        transfer(0, 0, 0, 0, 0, flags=2),                      # waits for the store
        3,                                                     # FINISH
    ]


def signed(value, bits):
    return value - (1 << bits) if value >> (bits - 1) & 1 else value


class Bench:
    def __init__(self, dut, seed):
        self.dut = dut
        self.random = random.Random(seed)
        dut.configuration_hash.value = int.from_bytes(bytes(range(32)), "little")
        cocotb.start_soon(Clock(dut.clk, 10, units="ns").start())
        # Without the reset: on Verilator the models do not see it end, and they need none.
        self.registers = AxiLiteMaster(AxiLiteBus.from_prefix(dut, "s_axi"), dut.clk)
        self.ram = AxiRam(AxiBus.from_prefix(dut, "m_axi"), dut.clk, size=1 << 16)

    async def reset(self):
        self.dut.resetn.value = 0
        for _ in range(4):
            await RisingEdge(self.dut.clk)
        self.dut.resetn.value = 1
        await RisingEdge(self.dut.clk)

    def pause(self, share):
        """Each channel stands still in `share` of the cycles."""
        def pauses():
            for _ in itertools.count():
                yield self.random.random() < share
        for channel in (self.ram.write_if.aw_channel, self.ram.write_if.w_channel,
                        self.ram.write_if.b_channel, self.ram.read_if.ar_channel,
                        self.ram.read_if.r_channel, self.registers.write_if.aw_channel,
                        self.registers.write_if.w_channel, self.registers.write_if.b_channel,
                        self.registers.read_if.ar_channel, self.registers.read_if.r_channel):
            channel.set_pause_generator(pauses())

    async def run(self):
        words = program()
        for i, word in enumerate(words):
            self.ram.write(PROGRAM + 16 * i, word.to_bytes(16, "little"))
        await self.registers.write_dword(COUNT, len(words))
        await self.registers.write_dword(ADDRESS, PROGRAM)
        for i, base in enumerate(BASE):
            await self.registers.write_dword(BASES + 4 * i, base)
        await self.registers.write_dword(CONTROL, 1)
        for _ in range(10000):
            if await self.registers.read_dword(CONTROL) == 2:
                return
        assert False, "the program did not end"


@cocotb.test(timeout_time=1, timeout_unit="ms")
async def registers(dut):
    bench = Bench(dut, 1)
    await bench.reset()
    for share in (0, 0.5):
        if share:
            bench.pause(share)
        assert await bench.registers.read_dword(IDENTIFICATION) == 0x46544C31
        assert (await bench.registers.read(HASH, 32)).data == bytes(range(32))
        expected = bytearray(4)
        for _ in range(50):
            # Writes of one to four bytes: the strobes.
            at = bench.random.randrange(4)
            data = bench.random.randbytes(bench.random.randint(1, 4 - at))
            await bench.registers.write(INP_BASE + at, data)
            expected[at:at + len(data)] = data
            assert (await bench.registers.read(INP_BASE, 4)).data == expected
        await bench.registers.write_dword(INP_BASE, 0)


@cocotb.test(timeout_time=5, timeout_unit="ms")
async def programs(dut):
    bench = Bench(dut, 2)
    await bench.reset()
    for share in (0, 0.3, 0.7):
        if share:
            bench.pause(share)
        inputs = bench.random.randbytes(16 * ROWS)
        weights = bench.random.randbytes(256)
        bias = bench.random.randbytes(64 * ROWS)
        bench.ram.write(UOPS, bytes(4))
        bench.ram.write(INPUT, inputs)
        bench.ram.write(WEIGHTS, weights)
        bench.ram.write(BIAS, bias)
        bench.ram.write(OUTPUT - 16, bytes(16 * ROWS + 32))
        await bench.run()
        assert await bench.registers.read_dword(ERRORS) == 0
        expected = bytearray()
        for row in range(ROWS):
            for oc in range(16):
                at = 64 * row + 4 * oc
                total = int.from_bytes(bias[at:at + 4], "little")
                for ic in range(16):
                    total += signed(inputs[16 * row + ic], 8) * signed(weights[16 * oc + ic], 8)
                expected.append(signed(total & 0xFFFFFFFF, 32) >> 6 & 0xFF)
        assert bench.ram.read(OUTPUT, 16 * ROWS) == bytes(expected)
        assert bench.ram.read(OUTPUT - 16, 16) == bytes(16)
        assert bench.ram.read(OUTPUT + 16 * ROWS, 16) == bytes(16)
        cycles = await bench.registers.read_dword(CYCLES)
        dut._log.info("pauses %.1f: %d cycles", share, cycles)
        assert cycles > 2 * ROWS
