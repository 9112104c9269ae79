// fettle broker: pairs clients with boards until it is stopped.
#include <poll.h>
#include <sys/resource.h>

#include <fmt/format.h>
#include <nlohmann/json.hpp>
#include <optional>

#include "host/app/commands.h"
#include "host/app/interrupt.h"
#include "host/app/message.h"
#include "host/fleet/broker.h"

namespace fettle::app {
namespace {

struct BrokerCommand {
  std::string listen;
  std::vector<std::string> power_cycle;
  std::optional<std::string> state;
  int power_cycle_after_s = 120;
  bool json = false;
};

int run(const BrokerCommand& command) {
  auto home = fleet::fettle_home();
  if (!home) return fail(home.error());
  const fleet::KeyFolder folder(*home);
  auto keys = folder.load_or_create("broker");
  if (!keys) return fail(keys.error());
  // Each peer is a descriptor.
  rlimit files{};
  if (getrlimit(RLIMIT_NOFILE, &files) == 0) {
    files.rlim_cur = files.rlim_max;
    setrlimit(RLIMIT_NOFILE, &files);
  }
  Interrupt interrupt;
  fleet::BrokerOptions options;
  options.listen = command.listen;
  options.keys = *keys;
  options.allow_file = folder.allow_file();
  options.state_folder = command.state ? *command.state : (*home / "broker").string();
  for (const std::string& text : command.power_cycle) {
    if (auto added = fleet::add_power_cycle(options.power_cycle, text); !added) {
      throw CLI::ValidationError(added.error().text());
    }
  }
  options.power_cycle.patience = std::chrono::seconds(command.power_cycle_after_s);
  options.log = [](const std::string& line) { note(line); };
  auto broker = fleet::Broker::start(std::move(options));
  if (!broker) return fail(broker.error());
  if (command.json) {
    print("{}\n", nlohmann::json{{"event", "listening"},
                                 {"endpoint", (*broker)->endpoint()},
                                 {"public_key", (*broker)->public_key()}}
                      .dump());
  } else {
    print("listening on {}\nbroker's public key {}\n", (*broker)->endpoint(),
          (*broker)->public_key());
  }
  std::fflush(stdout);
  while (!interrupt.requested()) {
    pollfd stop{interrupt.fd(), POLLIN, 0};
    ::poll(&stop, 1, 1000);
  }
  (*broker)->stop();
  return kFine;
}

}  // namespace

void add_broker_command(CLI::App& app, int& status) {
  auto* broker = app.add_subcommand("broker", "Pairs clients with boards; both dial in here");
  auto command = std::make_shared<BrokerCommand>();
  broker->add_option("--listen", command->listen, "Where to listen: tcp://ADDRESS:PORT")
      ->required();
  broker
      ->add_option("--power-cycle", command->power_cycle,
                   "NAME=COMMAND: what switches that board off and on; called when it stays "
                   "silent, again every two minutes, three times at most (repeatable)")
      ->allow_extra_args(false);
  broker
      ->add_option("--power-cycle-after", command->power_cycle_after_s,
                   "Seconds that a silent board gets to come back by itself, as after a reboot")
      ->check(CLI::Range(0, 86'400))
      ->capture_default_str();
  broker->add_option("--state", command->state,
                     "Where it keeps what must survive its end: results that no client has "
                     "fetched, trials on boards, blobs (default $FETTLE_HOME/broker; '': nowhere)");
  broker->add_flag("--json", command->json, "Prints a JSON line once it listens");
  broker->footer(
      "Keys: $FETTLE_HOME/broker.key is made at the first start. Let clients and agents "
      "in with `fettle keys allow`.");
  broker->callback([command, &status] { status = run(*command); });
}

}  // namespace fettle::app
