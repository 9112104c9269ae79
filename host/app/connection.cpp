// Connection (connection.h).
#include "host/app/connection.h"

#include <sys/resource.h>

#include <algorithm>

#include <fmt/format.h>

#include "host/app/build_version.h"
#include "host/app/cores.h"
#include "host/app/message.h"
#include "host/backend/backend.h"
#include "host/fleet/device_kind.h"

namespace fettle::app {
namespace {

// A session, and the agent that it rests on.
class LocalRunner final : public tune::Runner {
 public:
  LocalRunner(std::unique_ptr<fleet::Session> session, const fleet::LocalAgent* agent)
      : session_(std::move(session)), agent_(agent) {}

  std::size_t capacity() const override { return session_->capacity(); }
  void offer_blob(const wire::Hash& hash, Bytes bytes) override {
    session_->offer_blob(hash, std::move(bytes));
  }
  void submit(std::uint64_t trial, const wire::MeasureRequestT& request) override {
    session_->submit(trial, request);
  }
  void submit_to(const std::string& board_id, std::uint64_t trial,
                 const wire::MeasureRequestT& request) override {
    session_->submit_to(board_id, trial, request);
  }
  void cancel_pending() override { session_->cancel_pending(); }
  Result<std::vector<tune::Measured>> poll(std::chrono::milliseconds wait) override {
    auto measured = session_->poll(wait);
    if (agent_ && measured && measured->empty()) {
      if (auto alive = agent_->health(); !alive) return alive.error();
    }
    return measured;
  }
  std::size_t boards_there() const override { return session_->boards_there(); }
  std::size_t boards_unlike() const override { return session_->boards_unlike(); }
  bool reachable() const override { return session_->reachable(); }
  int ready_fd() const override { return session_->ready_fd(); }
  const wire::DeviceInfoT& device() const override { return session_->device(); }
  const wire::BoardT& board() const override { return session_->board(); }

 private:
  std::unique_ptr<fleet::Session> session_;
  const fleet::LocalAgent* agent_;  // null: the boards are someone else's
};

Result<backend::LocalDevice> local_device(const std::string& key) {
  std::string known;
  for (const backend::Backend* each : backend::backends()) {
    for (const backend::LocalDevice& device : each->local_devices()) {
      if (device.key == key) return device;
      known += (known.empty() ? "" : ", ") + device.key;
    }
  }
  return Error{ErrorCode::NotFound,
               "no broker is named, so the device keys are those of this machine (" + known +
                   "), not \"" + key + "\"; --broker names the one that has that board"};
}

std::string list_of(const std::vector<int>& cores) {
  std::string text;
  for (int core : cores) text += (text.empty() ? "" : ",") + std::to_string(core);
  return text;
}

// The last cores are the device's: interrupts favour the first ones. `threads`: how many; 0: all
// but one.
Result<std::vector<int>> cores_for_device(const std::vector<int>& cores, int threads) {
  const std::size_t wanted =
      threads > 0 ? static_cast<std::size_t>(threads) : std::max<std::size_t>(1, cores.size() - 1);
  if (wanted > cores.size()) {
    return Error{ErrorCode::InvalidArgument, std::to_string(wanted) +
                                                 " threads: this machine has " +
                                                 std::to_string(cores.size()) + " core(s) for us"};
  }
  return std::vector<int>(cores.end() - static_cast<std::ptrdiff_t>(wanted), cores.end());
}

// A session takes some 60, and libzmq ends the process where it gets none.
Result<void> take_descriptors() {
  constexpr rlim_t kEnough = 1024, kLeast = 128;
  rlimit files{};
  if (getrlimit(RLIMIT_NOFILE, &files) != 0 || files.rlim_cur >= kEnough) return {};
  files.rlim_cur = std::min(kEnough, files.rlim_max);
  if (setrlimit(RLIMIT_NOFILE, &files) == 0 && files.rlim_cur >= kLeast) return {};
  return Error{ErrorCode::Io, std::to_string(files.rlim_cur) + " open files are allowed here, " +
                                  std::to_string(kLeast) + " are needed: `ulimit -n` raises that"};
}

}  // namespace

Result<fleet::BrokerAddress> broker_address(const std::string& url, const std::string& public_key,
                                            const std::string& own_name) {
  auto home = fleet::fettle_home();
  if (!home) return home.error();
  const fleet::KeyFolder folder(*home);
  fleet::BrokerAddress address;
  address.url = url;
  address.public_key = public_key;
  if (public_key.empty()) {
    const auto own = folder.load("broker");
    if (!own && own.error().code != ErrorCode::NotFound) return own.error();
    if (!own) {
      return Error{ErrorCode::InvalidArgument,
                   "--broker needs --broker-key, the public key that `fettle broker` printed (this "
                   "account has no broker of its own)",
                   {}};
    }
    address.public_key = own->public_key;
  } else if (auto fits = fleet::check_public_key(public_key); !fits) {
    return std::move(fits.error()).in("reading --broker-key");
  }
  auto keys = folder.load_or_create(own_name);
  if (!keys) return keys.error();
  address.keys = std::move(*keys);
  return address;
}

// A broker on the loopback interface with keys that live as long as this session.
Result<void> Connection::start_local(const ConnectionOptions& options) {
  const auto device = local_device(options.device_key);
  if (!device) return device.error();
  const auto program = fleet::find_agent(fleet::machine_arch());
  if (!program) return program.error();
  auto broker_keys = fleet::make_key_pair(), client_keys = fleet::make_key_pair(),
       agent_keys = fleet::make_key_pair();
  for (const auto* keys : {&broker_keys, &client_keys, &agent_keys}) {
    if (!*keys) return keys->error();
  }
  fleet::BrokerOptions broker_options;
  broker_options.keys = *broker_keys;
  broker_options.allowed = {{"client", wire::Role::Client, client_keys->public_key},
                            {"agent", wire::Role::Agent, agent_keys->public_key}};
  auto broker = fleet::Broker::start(std::move(broker_options));
  if (!broker) return std::move(broker.error()).in("starting the session's own broker");
  broker_ = std::move(*broker);
  address_ = {broker_->endpoint(), broker_->public_key(), *client_keys};

  const std::vector<int> cores = usable_cores();
  std::vector<int> device_cores;
  if (device->takes_cores) {
    auto chosen = cores_for_device(cores, options.local_threads);
    if (!chosen) return chosen.error();
    device_cores = std::move(*chosen);
    free_cores_.assign(cores.begin(), cores.end() - std::ssize(device_cores));
  }
  fleet::LocalAgentOptions agent_options;
  agent_options.program = *program;
  agent_options.broker_url = address_.url;
  agent_options.broker_public_key = address_.public_key;
  agent_options.keys = *agent_keys;
  agent_options.device_key = device->key;
  // A session of this machine has nothing else to do than to wait for its driver.
  // Room for a whole network's weights.
  agent_options.arguments = {"--log-level", "warning",      "--worker-patience",
                             "30",          "--blob-cache", "2048"};
  if (device->takes_cores) {
    agent_options.arguments.insert(agent_options.arguments.end(),
                                   {"--device-cores", list_of(device_cores)});
  }
  agent_options.arguments.insert(agent_options.arguments.end(), device->agent_options.begin(),
                                 device->agent_options.end());
  // Kernels of a driver that builds programs run as this user.
  if (const auto home = fleet::fettle_home()) {
    agent_options.arguments.insert(agent_options.arguments.end(), {"--hide", home->string()});
  }
  agent_options.cores = cores;  // this process itself is going to keep off the device's
  // Drivers say the same thing for each candidate that they refuse.
  agent_options.log = [last = std::string()](const std::string& line) mutable {
    if (line != last) note("agent: " + line);
    last = line;
  };
  auto agent = fleet::LocalAgent::start(std::move(agent_options));
  if (!agent) return std::move(agent.error()).in("starting this machine's agent");
  agent_ = std::move(*agent);
  return agent_->wait_registered(address_, std::chrono::seconds(40), options.stop);
}

Result<Connection> Connection::open(const ConnectionOptions& options) {
  if (auto enough = take_descriptors(); !enough) return enough.error();
  Connection connection;
  if (options.broker.empty()) {
    if (auto started = connection.start_local(options); !started) return started.error();
  } else {
    auto address = broker_address(options.broker, options.broker_key);
    if (!address) return address.error();
    connection.address_ = std::move(*address);
  }
  fleet::SessionPlan plan;
  plan.device_key = options.device_key;
  plan.name = options.name;
  plan.priority = connection.priority_ = options.priority;
  plan.where = connection.address_.url;
  plan.shares = !options.broker.empty();
  if (options.away_at_most) plan.away_at_most = *options.away_at_most;
  auto session = fleet::Session::open(connection.address_, std::move(plan), options.stop);
  if (!session) return session.error();
  if (const std::size_t unlike = (*session)->boards_unlike(); unlike > 0) {
    warn(fmt::format(
        "{} {} of the key '{}' {} of another kind than {} ({}): no trials for {}; give {} agent "
        "another --key (`fettle devices` lists them)",
        unlike, unlike == 1 ? "board" : "boards", options.device_key, unlike == 1 ? "is" : "are",
        (*session)->board().hostname, fleet::kind_text((*session)->device()),
        unlike == 1 ? "it" : "them", unlike == 1 ? "its" : "their"));
  }
  connection.session_ = session->get();
  connection.runner_ = std::make_unique<LocalRunner>(std::move(*session), connection.agent_.get());
  return connection;
}

Result<std::unique_ptr<fleet::RemoteBuilder>> Connection::remote_builder(
    const std::string& name, const tune::StopSignal* stop) {
  const auto version = build_version();
  if (!version) return version.error();
  return fleet::RemoteBuilder::open(
      address_, *version, name,
      [session = session_](const wire::Hash& hash) { session->blob_is_there(hash); }, stop,
      priority_);
}

}  // namespace fettle::app
