// The supervisor: one thread that serves the broker, the workers and the clock.
#pragma once

#include <csignal>
#include <memory>
#include <vector>

#include "agent/server/broker_link.h"
#include "agent/server/device_queue.h"
#include "agent/server/kept_outcomes.h"
#include "agent/server/notify.h"
#include "agent/server/options.h"
#include "agent/server/worker_output.h"

namespace fettle::agent {

// Exit statuses of the agent.
inline constexpr int kExitUsage = 2;     // options, keys or files
inline constexpr int kExitRejected = 3;  // the broker does not want this agent
inline constexpr int kExitBroken = 4;    // the agent's own processes fail

class Supervisor {
 public:
  Supervisor(const AgentOptions& options, wire::BoardT board,
             std::vector<wire::DeviceInfoT> devices, Nursery nursery, BrokerLink link,
             std::string public_key, ServiceNotifier service);
  // Until SIGTERM or SIGINT (0), or an error that waiting does not mend.
  int run();

 private:
  void handle(wire::MessageT& message);
  // One per kind of message that a broker sends to an agent; see the table in the .cpp.
  void on_welcome(wire::WelcomeT& welcome);
  void on_reject(wire::RejectT& reject);
  void on_hello_needed(wire::HelloNeededT&);
  // The broker does not know this agent any more. Both in nanoseconds.
  void forgotten(std::uint64_t now, std::uint64_t complain_after);
  void on_heartbeat(wire::HeartbeatT& heartbeat);
  void on_put_blob(wire::PutBlobT& blob);
  void on_assign(wire::AssignT& assign);
  void on_release(wire::ReleaseT& release);
  void want(std::vector<wire::Hash> missing);

  void say_hello();
  Result<Bytes> sendable(const Bytes& outcome) const;
  void send_done(std::uint64_t lease, Bytes outcome);
  bool say_done(std::uint64_t lease, const Bytes& outcome);
  void forget_leases();
  std::vector<std::uint64_t> leases() const;
  void feed_watchdog();
  int on_time();  // milliseconds until it wants to be called again
  std::vector<const DeviceQueue*> offered() const;  // what a Hello names
  bool workers_settled() const;  // each has said what its device is, or that there is none
  std::size_t ready_workers() const;

  template <typename BodyT, void (Supervisor::*handler)(BodyT&)>
  static void call(Supervisor& self, wire::MessageT& message);
  struct DispatchRow {
    wire::Body kind;
    void (*handle)(Supervisor&, wire::MessageT&);
  };
  static const DispatchRow kDispatch[];

  std::string url_, public_key_;
  wire::BoardT board_;
  Nursery nursery_;
  BrokerLink link_;
  ServiceNotifier service_;
  WorkerOutputLog output_;
  BlobStore blobs_;
  std::vector<std::unique_ptr<DeviceQueue>> devices_;

  KeptOutcomes kept_;
  bool welcomed_ = false;
  std::size_t told_ready_ = 0;    // the last Hello had so many workers' word of their devices
  std::size_t told_devices_ = 0;  // that it named
  std::uint64_t broker_instance_ = 0;
  std::uint64_t heartbeat_ns_, silence_ns_, worker_patience_ns_;
  std::uint64_t clock_lag_ = 1;  // real seconds in one of ours, at most
  std::uint64_t started_;
  std::uint64_t unregistered_;  // since when no broker knows it, where none does
  std::uint64_t last_heard_ = 0, last_hello_ = 0, last_heartbeat_ = 0, last_alive_ = 0;
  std::uint64_t next_complaint_;
  int exit_status_ = -1;  // >= 0: stop
};

}  // namespace fettle::agent
