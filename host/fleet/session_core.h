// A client's session as a state machine: messages and times in, messages and
// results out. It opens the session, keeps it alive, and when the broker was away
// or restarted opens it again and submits what is in flight again.
#pragma once

#include <deque>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "host/fleet/slow_link.h"
#include "host/tune/pipeline.h"
#include "schemas/wire/content_hash.h"

namespace fettle::fleet {

struct SessionPlan {
  std::string device_key;
  std::string name;                    // for people
  int priority = 0;                    // higher goes first
  std::string where;                   // the broker's address, for messages
  std::string public_key;              // this client's, for messages
  milliseconds answer_within{10'000};  // the first answer; then it is Unreachable
  milliseconds away_at_most{120'000};  // a broker that answered before
  // Others may have sessions there. Beside what a board keeps, one request waits at the broker for
  // its next free place: else none would wait when the place is free, and another session's turn it
  // would be, whatever the priorities.
  bool shares = false;
  std::size_t window = 1024;  // submitted at one time
};

// How a trial ended that was submitted by submit_build.
struct BuiltTrial {
  std::uint64_t trial;
  wire::BuildResultT result;
};

class SessionCore {
 public:
  SessionCore(SessionPlan plan, std::uint64_t instance, std::uint64_t session, TimePoint now);

  void receive(ByteView bytes, TimePoint now);
  // Call at least every half heartbeat.
  void tick(TimePoint now);
  std::vector<Outgoing> take_outgoing() { return std::exchange(outgoing_, {}); }

  void offer_blob(const wire::Hash& hash, ByteView bytes);
  // For a trial that is submitted next: forgotten when no trial that names it is left, unless it
  // was offered otherwise.
  void offer_image(const wire::Hash& hash, ByteView bytes);
  // `blobs`: every hash the request names; one that was not offered fails the trial.
  // `board_id`: only this board, when set.
  void submit(std::uint64_t trial, ByteView request, std::vector<wire::Hash> blobs,
              const std::string& board_id = "");
  // In a session of builders: an encoded BuildRequest.
  void submit_build(std::uint64_t trial, ByteView request);
  // A builder brought that blob to the broker. If the broker loses it, trials that name it fail.
  void blob_is_there(const wire::Hash& hash) { blobs_[hash].of_trials = false; }
  // Drops what no board has taken yet, without an outcome; what is on a board
  // may still end. A broker that was restarted is not asked for them again.
  void cancel_pending();
  void close();

  bool opened() const { return opened_once_; }
  // Set once: the session is over.
  const std::optional<Error>& error() const { return error_; }
  bool has_results() const { return !results_.empty() || !built_.empty(); }
  std::vector<tune::Measured> take_results() { return std::exchange(results_, {}); }
  std::vector<BuiltTrial> take_built() { return std::exchange(built_, {}); }
  // Of builders it may be 0.
  std::size_t capacity() const { return capacity_; }
  std::size_t boards() const { return boards_; }
  // Boards of its key that are of another kind than device(): they get no trials but those that
  // name them.
  std::size_t unlike() const { return unlike_; }
  // The broker answers, if only that the boards have not dialled in again.
  bool reachable() const { return state_ != State::Dialling; }
  std::size_t in_flight() const { return trials_.size(); }
  const wire::DeviceInfoT& device() const { return device_; }
  const wire::BoardT& board() const { return board_; }
  milliseconds heartbeat() const { return heartbeat_; }

 private:
  enum class State { Dialling, Opening, Open };
  struct InFlight {
    SharedBytes message;
    std::vector<wire::Hash> blobs;
    bool sent = false, canceled = false;
  };

  void say_hello(TimePoint now);
  void say_open(TimePoint now);
  void on_opened(wire::SessionOpenedT& opened, TimePoint now);
  void on_completed(wire::CompletedT& completed);
  void send_submits();
  void send_blob(const wire::Hash& hash, TimePoint now);
  void enter(std::uint64_t trial, wire::SubmitT submit);
  void lost_blob(const wire::Hash& hash);
  // Of a trial that is over, or was never entered.
  void let_go(const std::vector<wire::Hash>& blobs, bool entered = true);
  bool take_out(std::uint64_t trial, const wire::FailureT* failure);
  void finish(std::uint64_t trial, std::uint32_t attempt, wire::OutcomeT outcome);
  void finish_build(std::uint64_t trial, ByteView built);
  void send(SharedBytes bytes) { outgoing_.push_back({"", std::move(bytes)}); }

  const SessionPlan plan_;
  const std::uint64_t instance_, session_;
  State state_ = State::Dialling;
  bool opened_once_ = false, closed_ = false;
  std::uint64_t broker_instance_ = 0;
  milliseconds heartbeat_{1000}, silence_{10'000};
  TimePoint last_heard_, last_said_, waiting_since_;
  SlowLink uploads_;              // answers wait behind blobs that were sent
  std::optional<Error> refused_;  // why the last open was refused: try again later
  struct Offered {
    std::vector<SharedBytes> messages;  // its pieces; none: a builder brought it
    std::size_t bytes = 0;              // of these
    int sent = 0;                       // since a trial was last completed
    bool of_trials = false;             // offered by offer_image alone
    std::size_t trials = 0;             // that name it
  };
  std::map<wire::Hash, Offered, HashLess> blobs_;
  std::map<std::uint64_t, InFlight> trials_;
  std::deque<std::uint64_t> unsent_;
  std::size_t sent_ = 0;
  std::vector<tune::Measured> results_;
  std::vector<BuiltTrial> built_;
  std::vector<Outgoing> outgoing_;
  std::optional<Error> error_;
  const bool builds_;
  std::size_t boards_ = 1, unlike_ = 0;  // as the broker said last
  std::size_t capacity_ = builds_ ? 0 : 1;
  std::string kind_;  // of the first device_; "": none yet, or of builders
  wire::DeviceInfoT device_;
  wire::BoardT board_;
};

// Unreachable: what to look at, and what lets this client's key in.
Error no_answer(const std::string& where, const std::string& public_key, milliseconds within);
// `cause`: what is known of it instead.
Error no_answer(const std::string& where, const std::string& cause);

// Every content hash that a request names.
std::vector<wire::Hash> blobs_of(const wire::MeasureRequestT& request);

// Makes blobs of the images that the request brings along, for one that is too long to travel
// as one message. Each image names its own then.
std::vector<Bytes> take_images_out(wire::MeasureRequestT& request);

}  // namespace fettle::fleet
