// Who works when: the units and fetch of one run, on their queues and on the port. Without what
// they do: the caller does each instruction when it ends.
#pragma once

#include <array>
#include <queue>
#include <span>
#include <vector>

#include "fpga/isa/encoding.h"
#include "fpga/isa/queues.h"
#include "fpga/sim/read_stream.h"

namespace fettle::vta {

// An instruction's time in its unit, in cycles from the start of the stream.
struct Span {
  std::uint32_t instruction = 0;
  Unit unit = Unit::Compute;
  std::uint64_t from = 0, to = 0;  // its start, tokens and all being there, and its end
};

class Timeline {
 public:
  // All must outlive it. The stream lies at `address`.
  Timeline(const Design& design, const Timing& timing, std::span<const Instruction> instructions,
           std::span<const Command> commands, std::uint64_t address);

  // Goes on to the next end of an instruction. Nothing when no unit goes on any more: that is the
  // end when queues().done(), else a deadlock.
  std::optional<Span> next();

  const Queues& queues() const { return queues_; }
  const Port& port() const { return port_; }
  std::uint64_t step_cycles() const { return step_cycles_; }  // of GEMM and ALU so far

 private:
  // In the order in which they come at the same time.
  enum class Kind : std::uint8_t { Port, End, Arrive, Write, Dispatch, Wake, Request };
  // Who reads, in the order in which the port serves them at the same time.
  enum Reader : std::uint8_t { kComputeReader, kFetchReader, kLoadReader, kReaders };
  struct Event {
    std::uint64_t time;
    Kind kind;
    std::uint8_t who;  // a reader for Request, a unit for the others
    bool operator>(const Event& other) const {
      if (time != other.time) return time > other.time;
      return kind != other.kind ? kind > other.kind : who > other.who;
    }
  };
  struct InWork {
    Span span;
    bool empty;  // of the load unit: ends with the one before
    bool known;  // its end
  };
  struct UnitTime {
    std::uint64_t free = 0;  // from when on the next may start
    std::uint64_t wake = 0;  // when a Wake comes
    std::uint32_t arrived = 0, started = 0;
    std::deque<InWork> in_work;  // oldest first
  };

  void add(std::uint64_t time, Kind kind, std::size_t who) {
    events_.push({time, kind, static_cast<std::uint8_t>(who)});
  }
  void wake(Unit unit, std::uint64_t time);
  UnitTime& at(Unit unit) { return units_[static_cast<std::size_t>(unit)]; }

  std::optional<std::uint64_t> next_request(Reader reader) const;
  void ask(Reader reader);  // makes the Request for its next burst, unless one is under way
  void port_changed();      // another burst is under way, or one less
  void burst_ended();
  void request(Reader reader);  // asks the port
  void dispatch();              // hands over the next instruction, if it can
  bool start(Unit unit);        // starts the next instruction, if it can
  bool may_read(Unit unit, ReadStream& reads);
  void start_reads(Unit unit, const Load& load, std::uint64_t may_write);
  void start_writes(const Store& store);
  void write_burst();
  void set_end(Unit unit, std::uint64_t time);  // of the oldest whose end is not known

  const Design& design_;
  const Timing& timing_;
  std::span<const Instruction> instructions_;
  Queues queues_;
  Port port_;
  std::uint64_t port_event_ = 0;  // when a Port comes that counts; 0: none
  ReadStream load_reads_, compute_reads_;
  std::array<bool, kReaders> asked_ = {};  // a Request is under way
  std::array<UnitTime, kUnits> units_;
  std::priority_queue<Event, std::vector<Event>, std::greater<>> events_;
  std::uint64_t now_ = 0;

  Bursts instruction_bursts_;
  std::uint32_t fetch_held_ = 0;          // beats that were asked for and not handed over
  std::deque<std::uint64_t> fetched_at_;  // instructions in the buffer: when they are there
  std::uint64_t next_dispatch_ = 0;
  bool dispatching_ = false;  // a Dispatch is under way

  std::uint64_t last_result_ = 0, step_cycles_ = 0;
  std::uint32_t loads_under_way_ = 0;  // of the compute unit

  std::optional<Bursts> store_bursts_;  // of the one in work
};

}  // namespace fettle::vta
