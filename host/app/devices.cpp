// fettle devices: which boards a broker has, and what they are.
#include <iostream>
#include <optional>

#include <fmt/format.h>

#include "host/app/commands.h"
#include "host/app/connection.h"
#include "host/app/json_view.h"
#include "host/app/message.h"
#include "host/records/facts_json.h"
#include "host/records/table.h"

namespace fettle::app {
namespace {

struct DevicesCommand {
  std::string broker, broker_key;
  bool json = false;
};

std::string facts_of(const wire::DeviceInfoT& device) {
  std::string text = device.name;
  if (device.cpu) {
    text += fmt::format("  {} {} core(s) {}-bit vectors", device.cpu->arch,
                        device.cpu->cores.size(), device.cpu->vector_bits);
  }
  if (device.emulated) text += "  emulated";
  return text;
}

int run(const DevicesCommand& command) {
  std::optional<Connection> local;
  fleet::BrokerAddress address;
  if (command.broker.empty()) {
    auto opened = Connection::open({"", "", "local", "fettle devices"});
    if (!opened) return fail(opened.error());
    local.emplace(std::move(*opened));
    address = local->address();
  } else {
    auto named = broker_address(command.broker, command.broker_key);
    if (!named) return fail(named.error());
    address = std::move(*named);
  }
  const auto list = fleet::list_devices(address, std::chrono::seconds(10));
  if (!list) return fail(list.error());
  records::Table table({{"key"},
                        {"total", records::Align::Right},
                        {"free", records::Align::Right},
                        {"pending", records::Align::Right},
                        {"board"},
                        {"device"}});
  for (const auto& key : list->keys) {
    if (command.json) {
      nlohmann::json object = {{"key", key->key},
                               {"total", key->total},
                               {"free", key->free},
                               {"pending", key->pending},
                               {"boards", nlohmann::json::array()}};
      for (std::size_t i = 0; i < key->devices.size(); ++i) {
        object["boards"].push_back(
            {{"device", records::to_json(*key->devices[i])},
             {"board",
              i < key->boards.size() ? records::to_json(*key->boards[i]) : nlohmann::json()}});
      }
      print_json_line(object);
      continue;
    }
    std::vector<std::string> cells = {key->key, std::to_string(key->total),
                                      std::to_string(key->free), std::to_string(key->pending)};
    for (std::size_t i = 0; i < key->devices.size(); ++i) {
      if (i > 0) cells.assign(4, "");
      const wire::BoardT* board = i < key->boards.size() ? key->boards[i].get() : nullptr;
      cells.push_back(board ? board->hostname + " " + board->model : "");
      cells.push_back(facts_of(*key->devices[i]));
      table.row(cells);
    }
  }
  if (!command.json) table.print(std::cout);
  if (list->keys.empty()) note("the broker has no board");
  return kFine;
}

}  // namespace

void add_devices_command(CLI::App& app, int& status) {
  auto* devices =
      app.add_subcommand("devices", "The boards of a broker: total, free, pending, facts");
  auto command = std::make_shared<DevicesCommand>();
  devices->add_option("--broker", command->broker,
                      "tcp://HOST:PORT; without it: this machine itself");
  devices->add_option("--broker-key", command->broker_key,
                      "The broker's public key (default: of this account's own broker)");
  devices->add_flag("--json", command->json, "Prints a JSON object per key");
  devices->callback([command, &status] { status = run(*command); });
}

}  // namespace fettle::app
