// fettle devices: which boards a broker has, and what they are.
#include <cctype>
#include <iostream>
#include <map>
#include <optional>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "host/app/board_standing.h"
#include "host/app/commands.h"
#include "host/app/connection.h"
#include "host/app/devices_commands.h"
#include "host/app/json_view.h"
#include "host/app/message.h"
#include "host/fleet/broker_question.h"
#include "host/fleet/build_key.h"
#include "host/records/facts_json.h"
#include "host/records/table.h"
#include "host/space/profile.h"
#include "schemas/wire/clock_domain.h"

namespace fettle::app {
namespace {

struct DevicesCommand {
  std::string broker, broker_key;
  bool json = false;
};

std::string short_facts(const wire::DeviceInfoT& device) {
  std::string text = device.name;
  if (device.cpu) {
    text += fmt::format("  {} {} core(s) {}-bit vectors", device.cpu->arch,
                        device.cpu->cores.size(), device.cpu->vector_bits);
  }
  if (device.emulated) text += "  emulated";
  return text;
}

std::string clock_text(const wire::DeviceInfoT& device) {
  const ClockFacts& clock = clock_facts(device.clock);
  if (!clock.has_rate) return std::string("executed ") + clock.unit + ", no time";
  if (!clock.wall_time) return std::string("its own ") + clock.unit;
  return device.emulated ? "nanoseconds of an emulator" : "nanoseconds";
}

void print_line(const char* name, const std::string& value) {
  if (!value.empty()) print("  {:<10} {}\n", name, value);
}

// What the target profile adds: the data sheet's figures, and what else is on the board,
// where that is the board (a key may be given to any machine).
void print_profile(const space::Profile& profile, const wire::DeviceInfoT& device) {
  if (device.profile != profile.name) return print_line("profile", profile.name);
  print_line("profile", profile.name + ": " + profile.description);
  std::string sheet;
  if (profile.cores > 0)
    sheet = fmt::format("{} cores at {:.0f} MHz", profile.cores, profile.clock_mhz);
  if (const double peak = profile.peak_gflops(profile.cores, 0); peak > 0) {
    sheet += fmt::format(", {:.4g} GFLOPS (float32)", peak);
  }
  if (profile.memory_gbps > 0) sheet += fmt::format(", {:.4g} GB/s memory", profile.memory_gbps);
  print_line("data sheet", sheet);
  if (!profile.accelerator.kind.empty()) {
    const auto& [kind, key, name] = profile.accelerator;
    print_line("beside it",
               fmt::format("{} ({}), {}", name, kind,
                           key.empty() ? "not tuned for yet"
                                       : key + " where its driver or bitstream is installed"));
  }
  print_line("also as", fmt::format("{}", fmt::join(device.aliases, ", ")));
}

// Everything that a board says of itself and of one of its devices, for people.
void print_facts(const std::string& key, const wire::BoardT* board,
                 const wire::DeviceInfoT& device) {
  print("\n{}{}\n", key, board ? " on " + board->hostname : "");
  if (board) {
    print_line("board", (board->model.empty() ? "" : board->model + ", ") +
                            (board->serial.empty() ? "" : "serial " + board->serial + ", ") +
                            "id " + board->id);
    print_line("kernel", board->kernel);
    print_line("agent", board->agent_version);
  }
  print_line("device", device.name);
  if (device.cpu) {
    const wire::CpuFactsT& cpu = *device.cpu;
    std::string features;
    for (const auto& feature : cpu.features) features += " +" + feature;
    print_line("cpu", (cpu.cpu.empty() ? "unknown core" : cpu.cpu) + features);
    print_line(
        "cores",
        fmt::format("{}{}", fmt::join(cpu.cores, ", "),
                    cpu.max_khz > 0 ? fmt::format(", up to {} MHz", cpu.max_khz / 1000) : ""));
    for (const auto& cache : cpu.caches) {
      print_line("cache", fmt::format("L{} {}, {} KiB, shared by {}", cache->level, cache->kind,
                                      cache->bytes >> 10, cache->shared_by));
    }
  }
  if (const space::Profile* profile = space::profile_of(device)) print_profile(*profile, device);
  print_line("memory", fmt::format("{} MiB for one program", device.memory_limit_bytes >> 20));
  print_line("clock", clock_text(device));
  std::string sandbox = wire::EnumNameSandbox(device.sandbox);
  for (char& c : sandbox) c = static_cast<char>(std::tolower(static_cast<unsigned char>(c)));
  print_line("sandbox", sandbox);
  for (const auto& value : device.extra) print_line(value->name.c_str(), value->value);
}

// A row for each build worker of one version, which are no boards.
void add_builders(records::Table& table, const wire::DeviceStatusT& key) {
  std::map<std::string, std::pair<std::string, int>> workers;  // name and builders, by id
  for (const auto& board : key.boards) {
    auto& [name, builders] = workers[board->id];
    name = board->hostname;
    ++builders;
  }
  std::vector<std::string> cells = {key.key, std::to_string(key.total), std::to_string(key.free),
                                    std::to_string(key.pending)};
  for (const auto& [id, worker] : workers) {
    cells.resize(5);
    cells.push_back(worker.first + " build worker");
    cells.push_back(fmt::format("{} builder(s)", worker.second));
    table.row(cells);
    cells.assign(5, "");
  }
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
                        {"name"},
                        {"board"},
                        {"device"},
                        {"standing"}});
  for (const auto& key : list->keys) {
    if (command.json) {
      nlohmann::json object = {{"key", key->key},
                               {"total", key->total},
                               {"free", key->free},
                               {"pending", key->pending},
                               {"boards", nlohmann::json::array()}};
      for (std::size_t i = 0; i < key->devices.size(); ++i) {
        const wire::BoardStandingT* standing = standing_of(*key, i);
        object["boards"].push_back(
            {{"device", records::to_json(*key->devices[i])},
             {"board",
              i < key->boards.size() ? records::to_json(*key->boards[i]) : nlohmann::json()},
             {"standing", standing ? standing_json(*standing) : nlohmann::json()}});
      }
      object["sessions"] = sessions_json(*list, key->key);
      print_json_line(object);
      continue;
    }
    if (fleet::is_build_key(key->key)) {
      add_builders(table, *key);
      continue;
    }
    std::vector<std::string> cells = {key->key, std::to_string(key->total),
                                      std::to_string(key->free), std::to_string(key->pending)};
    for (std::size_t i = 0; i < key->devices.size(); ++i) {
      if (i > 0) cells.assign(4, "");
      const wire::BoardT* board = i < key->boards.size() ? key->boards[i].get() : nullptr;
      const wire::BoardStandingT* standing = standing_of(*key, i);
      cells.push_back(standing ? standing->name : "");
      cells.push_back(board ? board->hostname + " " + board->model : "");
      cells.push_back(short_facts(*key->devices[i]));
      cells.push_back(standing ? standing_text(*standing) : "");
      table.row(cells);
    }
  }
  if (!command.json) {
    table.print(std::cout);
    std::cout.flush();
    print_sessions(*list);
    for (const auto& key : list->keys) {
      if (fleet::is_build_key(key->key)) continue;
      for (std::size_t i = 0; i < key->devices.size(); ++i) {
        print_facts(key->key, i < key->boards.size() ? key->boards[i].get() : nullptr,
                    *key->devices[i]);
      }
    }
  }
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
  devices
      ->add_option("--broker-key", command->broker_key,
                   "The broker's public key (default: of this account's own broker)")
      ->needs("--broker");
  devices->add_flag("--json", command->json, "Prints a JSON object per key");
  add_reserve_commands(*devices, status);
  add_check_command(*devices, status);
  for (CLI::App* each : devices->get_subcommands({})) {
    for (const char* name : {"--broker", "--broker-key", "--json"}) {
      each->excludes(devices->get_option(name));  // they have their own, behind their names
    }
  }
  devices->callback([command, devices, &status] {
    if (devices->get_subcommands().empty()) status = run(*command);
  });
}

}  // namespace fettle::app
