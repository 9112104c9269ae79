// The events of a run (timeline.h).
#include "fpga/sim/timeline.h"

#include <algorithm>

namespace fettle::vta {
namespace {

constexpr std::uint64_t kStartCycles = 3;   // from the start register to the first request
constexpr std::uint64_t kStoreCycles = 3;   // from a store's start to its first beat
constexpr std::uint64_t kAnswerCycles = 2;  // from a store's last answer to its end
constexpr std::uint32_t kInstructionBeats = 2;

bool moves_nothing(const Transfer& transfer) {
  return transfer.x_size == 0 || transfer.y_size == 0;
}

}  // namespace

Timeline::Timeline(const Design& design, const Timing& timing,
                   std::span<const Instruction> instructions, std::span<const Command> commands,
                   std::uint64_t address)
    : design_(design),
      timing_(timing),
      instructions_(instructions),
      queues_(design, commands),
      port_(timing),
      load_reads_(timing),
      compute_reads_(timing),
      instruction_bursts_(Rows{address, instructions.size() * kWordBytes, 0, 1},
                          timing.burst_beats) {
  now_ = kStartCycles;
  ask(kFetchReader);
}

std::optional<Span> Timeline::next() {
  while (!events_.empty()) {
    const Event event = events_.top();
    events_.pop();
    now_ = event.time;
    const Unit unit = static_cast<Unit>(event.who);
    std::optional<Span> ended;
    switch (event.kind) {
      case Kind::Port:
        if (now_ == port_event_) burst_ended();
        break;
      case Kind::Request:
        request(static_cast<Reader>(event.who));
        break;
      case Kind::Dispatch:
        dispatching_ = false;
        break;
      case Kind::Arrive:
        ++at(unit).arrived;
        break;
      case Kind::Write:
        write_burst();
        break;
      case Kind::Wake:
        if (at(unit).wake == now_) at(unit).wake = 0;
        break;
      case Kind::End: {
        ended = at(unit).in_work.front().span;
        at(unit).in_work.pop_front();
        const Load* load = std::get_if<Load>(&instructions_[ended->instruction].body);
        if (unit == Unit::Compute && load && !moves_nothing(*load)) --loads_under_way_;
        queues_.end(unit);
        break;
      }
    }
    for (const Unit each : {Unit::Load, Unit::Compute, Unit::Store}) {
      while (start(each)) {
      }
    }
    dispatch();
    if (ended) return ended;
  }
  return std::nullopt;
}

void Timeline::wake(Unit unit, std::uint64_t time) {
  UnitTime& of = at(unit);
  if (of.wake > now_ && of.wake <= time) return;
  of.wake = time;
  add(time, Kind::Wake, static_cast<std::size_t>(unit));
}

std::optional<std::uint64_t> Timeline::next_request(Reader reader) const {
  if (reader == kLoadReader) return load_reads_.next_request(now_, port_);
  if (reader == kComputeReader) return compute_reads_.next_request(now_, port_);
  if (instruction_bursts_.done() ||
      fetch_held_ + instruction_bursts_.beats() > timing_.fetch_buffer_beats) {
    return std::nullopt;
  }
  return port_.next_read(now_);
}

void Timeline::ask(Reader reader) {
  if (asked_[reader]) return;
  if (const std::optional<std::uint64_t> at = next_request(reader)) {
    add(*at, Kind::Request, reader);
    asked_[reader] = true;
  }
}

void Timeline::request(Reader reader) {
  asked_[reader] = false;
  // Another may have been faster.
  if (next_request(reader) == now_) {
    if (reader == kFetchReader) {
      const std::uint32_t beats = instruction_bursts_.beats();
      port_.read(now_, beats, reader, kInstructionBeats);
      fetch_held_ += beats;
      instruction_bursts_.next();
    } else {
      const Unit unit = reader == kLoadReader ? Unit::Load : Unit::Compute;
      ReadStream& reads = reader == kLoadReader ? load_reads_ : compute_reads_;
      const std::uint32_t beats = reads.request(now_);
      port_.read(now_, beats, reader, beats);
      if (reads.ready()) wake(unit, now_ + 1);
    }
    port_changed();
  }
  ask(reader);
}

void Timeline::port_changed() {
  const std::optional<std::uint64_t> end = port_.next_end();
  if (!end || *end == port_event_) return;
  port_event_ = *end;
  add(*end, Kind::Port, 0);
}

void Timeline::burst_ended() {
  const Port::Ended burst = port_.end();
  port_event_ = 0;
  if (burst.written) {
    if (store_bursts_->done()) {
      set_end(Unit::Store, burst.answered + kAnswerCycles);
    } else {
      add(port_.next_write(now_), Kind::Write, static_cast<std::size_t>(Unit::Store));
    }
  } else if (burst.reader == kFetchReader) {
    fetched_at_.push_back(burst.end + 1);
  } else {
    const bool load = burst.reader == kLoadReader;
    if (const auto end = (load ? load_reads_ : compute_reads_).arrived(burst)) {
      set_end(load ? Unit::Load : Unit::Compute, *end);
    }
  }
  port_changed();
  for (const Reader reader : {kComputeReader, kFetchReader, kLoadReader}) ask(reader);
}

void Timeline::dispatch() {
  if (dispatching_ || fetched_at_.empty()) return;
  const std::uint64_t from = std::max(fetched_at_.front(), next_dispatch_);
  if (from > now_) {
    add(from, Kind::Dispatch, 0);
    dispatching_ = true;
    return;
  }
  const std::uint32_t instruction = queues_.fetched();
  if (!queues_.fetch()) return;  // tried again when its unit has started something
  add(now_ + timing_.command_cycles, Kind::Arrive,
      static_cast<std::size_t>(unit_of(instructions_[instruction])));
  fetched_at_.pop_front();
  next_dispatch_ = now_ + timing_.dispatch_cycles;
  fetch_held_ -= kInstructionBeats;
  ask(kFetchReader);
  dispatch();
}

bool Timeline::may_read(Unit unit, ReadStream& reads) {
  if (!reads.ready()) return false;  // there is a Wake when it is
  if (reads.waiting(now_) < timing_.waiting_loads) return true;
  // Else with what arrives next.
  if (const auto taken = reads.next_taken()) wake(unit, *taken);
  return false;
}

bool Timeline::start(Unit unit) {
  UnitTime& of = at(unit);
  if (of.started == of.arrived) return false;
  const std::optional<std::uint32_t> number = queues_.startable(unit);
  if (!number) return false;
  if (of.free > now_) {
    wake(unit, of.free);
    return false;
  }
  if (!of.in_work.empty() && (unit == Unit::Store || !timing_.overlap)) return false;
  const Instruction& instruction = instructions_[*number];
  const Load* load = std::get_if<Load>(&instruction.body);
  const Store* store = std::get_if<Store>(&instruction.body);
  const bool empty = load ? moves_nothing(*load) : store && moves_nothing(*store);
  const bool reads = load && !empty;
  if (reads && !may_read(unit, unit == Unit::Load ? load_reads_ : compute_reads_)) return false;
  if (unit == Unit::Compute && !reads && loads_under_way_ > 0) return false;

  queues_.start(unit);
  ++of.started;
  of.in_work.push_back({{*number, unit, now_, 0}, empty, false});
  of.free = now_ + 1;
  if (reads) {
    if (unit == Unit::Compute) ++loads_under_way_;
    start_reads(unit, *load, unit == Unit::Compute ? last_result_ : 0);
  } else if (store && !empty) {
    start_writes(*store);
  } else if (unit == Unit::Compute) {
    const Gemm* gemm = std::get_if<Gemm>(&instruction.body);
    const Alu* alu = std::get_if<Alu>(&instruction.body);
    const std::uint64_t steps =
        gemm  ? gemm->steps() * timing_.step_cycles
        : alu ? alu->steps() * (alu->use_imm ? timing_.alu_imm_cycles : timing_.alu_cycles)
              : 0;
    step_cycles_ += steps;
    of.free = now_ + std::max<std::uint64_t>(steps, 1);
    last_result_ = of.free + timing_.step_latency;
    set_end(unit, last_result_);
  } else if (unit == Unit::Store || of.in_work.size() == 1 ||
             of.in_work[of.in_work.size() - 2].known) {
    const std::uint64_t before =
        of.in_work.size() == 1 ? now_ : of.in_work[of.in_work.size() - 2].span.to;
    set_end(unit, std::max(now_, before) + 1);
  }
  return true;
}

void Timeline::start_reads(Unit unit, const Load& load, std::uint64_t may_write) {
  const std::uint64_t element = design_.element_bytes(load.memory);
  const std::uint64_t row = load.x_pad_left + load.x_size + load.x_pad_right;
  const ReadJob job{
      {load.dram_base * element, load.x_size * element, load.x_stride * element, load.y_size},
      load.y_pad_top * row + load.x_pad_left,
      std::uint64_t{load.x_pad_left} + load.x_pad_right,
      load.x_pad_right + load.y_pad_bottom * row};
  (unit == Unit::Load ? load_reads_ : compute_reads_).start(now_, job, may_write);
  ask(unit == Unit::Load ? kLoadReader : kComputeReader);
}

void Timeline::start_writes(const Store& store) {
  const std::uint64_t element = design_.element_bytes(Memory::Output);
  store_bursts_.emplace(Rows{store.dram_base * element, store.x_size * element,
                             store.x_stride * element, store.y_size},
                        timing_.burst_beats);
  add(port_.next_write(now_ + kStoreCycles), Kind::Write, static_cast<std::size_t>(Unit::Store));
}

void Timeline::write_burst() {
  port_.write(now_, store_bursts_->beats());
  store_bursts_->next();
  port_changed();
}

void Timeline::set_end(Unit unit, std::uint64_t time) {
  std::deque<InWork>& all = at(unit).in_work;
  const auto of_this =
      std::find_if(all.begin(), all.end(), [](const InWork& each) { return !each.known; });
  for (auto each = of_this; each != all.end(); ++each, ++time) {
    // Those behind it that move nothing end with it, one after the other.
    if (each != of_this && !each->empty) return;
    each->known = true;
    each->span.to = time;
    add(time + timing_.token_cycles, Kind::End, static_cast<std::size_t>(unit));
  }
}

}  // namespace fettle::vta
