// Builder and Runner: how the loop sees build workers and boards. Both are
// asynchronous: submit, then poll for what finished, in any order. StopSignal: what
// ends a session, and the waiting for one.
#pragma once

#include <chrono>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "schemas/build_generated.h"
#include "schemas/measure_generated.h"
#include "schemas/wire/codec.h"
#include "schemas/wire/result.h"

namespace fettle::tune {

// Set from outside to end the session: Ctrl-C.
class StopSignal {
 public:
  virtual ~StopSignal() = default;
  virtual bool requested() const = 0;
  virtual int fd() const = 0;  // readable once requested; -1: none
};

struct Built {
  std::uint64_t id;
  wire::BuildResultT result;
};

class Builder {
 public:
  virtual ~Builder() = default;
  virtual std::size_t workers() const = 0;
  // Compilers of other machines that build for it now, for people.
  virtual std::size_t remote_workers() const { return 0; }
  virtual void submit(wire::BuildRequestT request) = 0;  // queued without bound; the loop bounds it
  // Waits up to `wait` for at least one result. A worker that died is a Failure
  // (CompilerCrash, BuildTimeout), never an error; Error: no worker can be started.
  virtual Result<std::vector<Built>> poll(std::chrono::milliseconds wait) = 0;
  virtual int ready_fd() const = 0;  // readable when poll has something; -1: none
};

struct Measured {
  std::uint64_t trial;
  std::uint32_t attempt;
  wire::OutcomeT outcome;
};

class Runner {
 public:
  virtual ~Runner() = default;
  // Requests worth keeping in flight: boards of the key times their queue depth.
  virtual std::size_t capacity() const = 0;
  // 0: none is there now, and what is sent waits for one.
  virtual std::size_t boards_there() const = 0;
  // Boards of the key that are of another kind than device(), and get no trials.
  virtual std::size_t boards_unlike() const { return 0; }
  // False: what leads to the boards has been silent for a while, and is tried again.
  virtual bool reachable() const { return true; }
  // Trial numbers are unique in the runner's life: a repeated one is answered again.
  // Blobs by hash must have been offered before. The request is sent as soon as
  // the broker has room.
  virtual void offer_blob(const wire::Hash& hash, Bytes bytes) = 0;
  virtual void submit(std::uint64_t trial, const wire::MeasureRequestT& request) = 0;
  // The same for that board alone; a runner with one board has no others.
  virtual void submit_to(const std::string& /*board_id*/, std::uint64_t trial,
                         const wire::MeasureRequestT& request) {
    submit(trial, request);
  }
  // Drops what no board has taken yet, without an outcome; what is on a board may still end.
  virtual void cancel_pending() = 0;
  virtual Result<std::vector<Measured>> poll(std::chrono::milliseconds wait) = 0;
  virtual int ready_fd() const = 0;
  virtual const wire::DeviceInfoT& device() const = 0;
  virtual const wire::BoardT& board() const = 0;
};

}  // namespace fettle::tune
