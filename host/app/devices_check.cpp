// fettle devices check: the same small kernel on every board, its answer and its time judged.
#include <chrono>
#include <iostream>
#include <optional>
#include <set>

#include <CLI/CLI.hpp>
#include <nlohmann/json.hpp>

#include "host/app/check_history.h"
#include "host/app/check_verdict.h"
#include "host/app/connection.h"
#include "host/app/device_checker.h"
#include "host/app/devices_commands.h"
#include "host/app/interrupt.h"
#include "host/app/json_view.h"
#include "host/app/message.h"
#include "host/fleet/broker_question.h"
#include "host/fleet/build_key.h"
#include "host/fleet/durations.h"
#include "host/fleet/pool.h"
#include "host/records/table.h"

namespace fettle::app {
namespace {

struct CheckCommand {
  std::string broker, broker_key, within = "2m";
  std::optional<std::string> history;
  double apart_percent = 25;
  bool json = false;
};

std::string time_text(const CheckedDevice& device) {
  if (!device.ticks) return "";
  if (device.unit != "ns") return fmt::format("{:.0f} {}", *device.ticks, device.unit);
  return fmt::format("{:.1f} µs{}", *device.ticks / 1000,
                     device.time_of_a_board ? "" : ", emulated");
}

std::string ratio_text(const std::optional<double>& ratio) {
  return ratio ? fmt::format("{:+.1f} %", 100 * (*ratio - 1)) : std::string("–");
}

void print_table(const std::vector<CheckedDevice>& devices) {
  records::Table table({{"board"},
                        {"key"},
                        {"device"},
                        {"time", records::Align::Right},
                        {"siblings", records::Align::Right},
                        {"last checks", records::Align::Right},
                        {"result"}});
  for (const CheckedDevice& device : devices) {
    table.row({device.name, device.key, device.device, time_text(device),
               ratio_text(device.siblings), ratio_text(device.last),
               (device.bad ? "BAD: " : "") + device.verdict});
  }
  std::cout.flush();
  table.print(std::cout);
  std::cout.flush();
}

nlohmann::json json_of(const CheckedDevice& device) {
  nlohmann::json out = {{"name", device.name},         {"board", device.board_id},
                        {"hostname", device.hostname}, {"key", device.key},
                        {"device", device.device},     {"index", device.index},
                        {"kernel", device.kernel},     {"checked", device.ticks.has_value()},
                        {"bad", device.bad},           {"result", device.verdict}};
  if (device.ticks) out[device.unit] = *device.ticks;
  if (device.siblings) out["of_siblings"] = *device.siblings;
  if (device.last) out["of_last_checks"] = *device.last;
  return out;
}

// Also those of a slow board: what lasts is what it is measured by after some nights, and its
// siblings tell of it still.
void remember(CheckHistory& history, const std::vector<CheckedDevice>& devices) {
  const auto now = std::chrono::duration_cast<std::chrono::seconds>(
                       std::chrono::system_clock::now().time_since_epoch())
                       .count();
  for (const CheckedDevice& device : devices) {
    if (!device.time_of_a_board || !device.ticks || !device.failure.empty()) continue;
    history.add({now, device.board_id, device.index, device.kernel_id, *device.ticks});
  }
}

Result<std::filesystem::path> history_file(const CheckCommand& command) {
  if (command.history) return std::filesystem::path(*command.history);
  auto home = fleet::fettle_home();
  if (!home) return home.error();
  return *home / "device_checks.jsonl";
}

Result<int> run(const CheckCommand& command) {
  const auto within = fleet::parse_duration(command.within);
  if (!within) return Error(within.error()).in("reading --within");
  if (within->count() == 0) {
    return Error{ErrorCode::InvalidArgument, "--within 0s leaves no time for any board"};
  }
  const auto file = history_file(command);
  if (!file) return file.error();
  auto history = file->empty() ? Result<CheckHistory>(CheckHistory()) : CheckHistory::read(*file);
  if (!history) return history.error();
  if (history->bad_lines() > 0) {
    warn(fmt::format("{} lines of {} are no times of a check, and are left out",
                     history->bad_lines(), file->string()));
  }
  Interrupt interrupt;
  std::optional<Connection> local;
  fleet::BrokerAddress address;
  if (command.broker.empty()) {
    auto opened = Connection::open({"", "", "local", "fettle devices check", 0, &interrupt});
    if (!opened) return opened.error();
    local.emplace(std::move(*opened));
    address = local->address();
  } else {
    auto named = broker_address(command.broker, command.broker_key);
    if (!named) return named.error();
    address = std::move(*named);
  }
  const auto list = fleet::list_devices(address, std::chrono::seconds(10), &interrupt);
  if (!list && interrupt.requested()) return kInterrupted;
  if (!list) return list.error();
  DeviceChecker checker(address, *within, interrupt, *history);
  std::vector<CheckedDevice> checked;
  std::set<std::pair<std::string, std::uint32_t>> seen;  // a device has several keys
  for (const auto& key : list->keys) {
    if (fleet::is_build_key(key->key)) continue;
    for (std::size_t i = 0; i < key->devices.size() && i < key->boards.size(); ++i) {
      const wire::DeviceInfoT& device = *key->devices[i];
      if (!seen.emplace(key->boards[i]->id, device.index).second) continue;
      const wire::BoardStandingT* standing =
          i < key->standings.size() ? key->standings[i].get() : nullptr;
      checked.push_back(
          checker.check(fleet::pool_of(device.key, device), *key->boards[i], device, standing));
      if (interrupt.requested()) return kInterrupted;
    }
  }
  judge(checked, command.apart_percent / 100);
  if (command.json) {
    for (const CheckedDevice& device : checked) print_json_line(json_of(device));
  } else {
    print_table(checked);
  }
  if (!file->empty()) {
    remember(*history, checked);
    if (auto written = history->write(*file); !written) return written.error();
  }
  std::size_t bad = 0, ran = 0;
  for (const CheckedDevice& device : checked) {
    bad += device.bad;
    ran += device.ticks.has_value();
  }
  if (bad > 0) return fail(fmt::format("{} of {} devices are bad", bad, checked.size()));
  if (ran == 0) return fail("no device was checked");
  return kFine;
}

}  // namespace

void add_check_command(CLI::App& devices, int& status) {
  auto* check = devices.add_subcommand(
      "check", "Runs a small kernel on every board, one after another, and judges them");
  const auto command = std::make_shared<CheckCommand>();
  check->add_option("--broker", command->broker,
                    "tcp://HOST:PORT; without it: this machine itself");
  check
      ->add_option("--broker-key", command->broker_key,
                   "The broker's public key (default: of this account's own broker)")
      ->needs("--broker");
  check
      ->add_option("--within", command->within,
                   "How long a board may take, with waiting for other sessions' trials on it")
      ->capture_default_str();
  check
      ->add_option("--apart", command->apart_percent,
                   "Percent that a time may be off its three or more siblings' median, or over "
                   "that of the board's last checks")
      ->check(CLI::Range(1.0, 1000.0))
      ->capture_default_str();
  check->add_option("--history", command->history,
                    "The file of the last checks' times (default "
                    "$FETTLE_HOME/device_checks.jsonl; '': none)");
  check->add_flag("--json", command->json, "Prints a JSON object per device");
  check->footer("Exit status: 0 all that were checked are good, 1 one is bad or none was checked.");
  check->callback([command, &status] {
    const auto done = run(*command);
    status = done ? *done : fail(done.error());
  });
}

}  // namespace fettle::app
