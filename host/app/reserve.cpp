// fettle devices reserve, fettle devices release: a board for one key alone.
#include <chrono>
#include <ctime>
#include <memory>

#include "host/app/commands.h"
#include "host/app/connection.h"
#include "host/app/devices_commands.h"
#include "host/app/json_view.h"
#include "host/app/message.h"
#include "host/fleet/broker_question.h"
#include "host/fleet/durations.h"

namespace fettle::app {
namespace {

constexpr std::chrono::seconds kAnswerWithin{10};

struct ReserveCommand {
  std::string board, time, note;
  std::string broker = "tcp://127.0.0.1:9190", broker_key;
  bool json = false, as_owner = false;
};

// "Thu 26 Nov 14:05", as this machine's clock goes.
std::string time_of_day(std::chrono::seconds from_now) {
  const auto then = std::chrono::system_clock::now() + from_now;
  const std::time_t seconds = std::chrono::system_clock::to_time_t(then);
  std::tm parts{};
  localtime_r(&seconds, &parts);
  char text[64];
  return {text, std::strftime(text, sizeof text, "%a %d %b %H:%M", &parts)};
}

int reserve(const ReserveCommand& command) {
  const auto time = fleet::parse_duration(command.time);
  if (!time) return fail(Error(time.error()).in("reading --for"));
  const auto address = broker_address(command.broker, command.broker_key);
  if (!address) return fail(address.error());
  const auto answer =
      fleet::reserve_board(*address, command.board, *time, command.note, kAnswerWithin);
  if (!answer) return fail(answer.error());
  const std::chrono::seconds left(static_cast<std::int64_t>(answer->seconds));
  if (command.json) {
    print_json_line(
        {{"board", answer->board_id}, {"name", answer->name}, {"seconds", answer->seconds}});
  } else {
    print("{} is yours alone until {} ({})\n", answer->name, time_of_day(left),
          fleet::duration_text(left));
  }
  return kFine;
}

int release(const ReserveCommand& command) {
  const auto address =
      broker_address(command.broker, command.broker_key, command.as_owner ? "broker" : "client");
  if (!address) return fail(address.error());
  const auto answer = fleet::release_board(*address, command.board, kAnswerWithin);
  if (!answer) return fail(answer.error());
  if (command.json) {
    print_json_line({{"board", answer->board_id}, {"name", answer->name}, {"seconds", 0}});
  } else {
    print("{} is everybody's again\n", answer->name);
  }
  return kFine;
}

}  // namespace

void add_reserve_commands(CLI::App& devices, int& status) {
  const auto add = [&](const char* name, const char* help, int (*action)(const ReserveCommand&)) {
    auto* app = devices.add_subcommand(name, help);
    const auto command = std::make_shared<ReserveCommand>();
    app->add_option("BOARD", command->board,
                    "The board's name on the broker's allow list, its id, or its host name")
        ->required();
    app->add_option("--broker", command->broker, "tcp://HOST:PORT")->capture_default_str();
    app->add_option("--broker-key", command->broker_key,
                    "The broker's public key (default: of this account's own broker)");
    app->add_flag("--json", command->json, "Prints a JSON object");
    app->callback([command, action, &status] { status = action(*command); });
    return std::pair(app, command);
  };
  const auto [reserving, wanted] =
      add("reserve", "A board for this account's sessions alone, for a time", reserve);
  reserving
      ->add_option(
          "--for", wanted->time,
          "How long from now on: 45m, 2h, 1d12h; 7 days at most. Again: the new end counts")
      ->check([](const std::string& text) {
        const auto time = fleet::parse_duration(text);
        return time ? "" : time.error().message;
      })
      ->required();
  reserving->add_option("--note", wanted->note, "What for: shown to the others (200 bytes)");
  const auto [releasing, ended] = add("release", "A reserved board is everybody's again", release);
  releasing
      ->add_flag("--as-owner", ended->as_owner,
                 "As the owner of this account's own broker: also what others reserved")
      ->excludes("--broker-key");
}

}  // namespace fettle::app
