// fettle keys: key pairs of this account, and whom its broker lets in.
#include <fmt/format.h>
#include <fmt/ranges.h>
#include <nlohmann/json.hpp>
#include <optional>

#include "host/app/commands.h"
#include "host/app/json_view.h"
#include "host/app/message.h"
#include "host/fleet/allow_list.h"
#include "host/fleet/keys.h"

namespace fettle::app {
namespace {

struct KeysOptions {
  std::string name, public_key;
  std::optional<std::string> role;
  std::vector<std::string> device_keys, boards;
  bool json = false;
};

Result<void> new_key(const fleet::KeyFolder& folder, const KeysOptions& options) {
  auto made = folder.create(options.name);
  if (!made) return made.error();
  if (options.json) {
    print_json_line({{"name", options.name},
                     {"public_key", made->public_key},
                     {"file", folder.key_file(options.name).string()}});
  } else {
    print("{}\n", made->public_key);
    note("the key pair is in " + folder.key_file(options.name).string() +
         "; the line above is its public half, for `fettle keys allow`");
  }
  return {};
}

Result<void> list_keys(const fleet::KeyFolder& folder, const KeysOptions& options) {
  const auto pairs = folder.list();
  if (!pairs) return pairs.error();
  const auto allowed = fleet::load_allow_list(folder.allow_file());
  if (!allowed) return allowed.error();
  if (options.json) {
    nlohmann::json object = {{"keys", nlohmann::json::array()},
                             {"allowed", nlohmann::json::array()}};
    for (const auto& pair : *pairs) {
      object["keys"].push_back({{"name", pair.name}, {"public_key", pair.public_key}});
      if (!pair.fault.empty()) object["keys"].back()["fault"] = pair.fault;
    }
    for (const auto& entry : *allowed) {
      object["allowed"].push_back({{"name", entry.name},
                                   {"role", fleet::role_name(entry.role)},
                                   {"public_key", entry.public_key},
                                   {"device_keys", entry.device_keys},
                                   {"boards", entry.boards}});
    }
    print_json_line(object);
    return {};
  }
  print("key pairs in {}:\n", folder.folder().string());
  for (const auto& pair : *pairs) {
    print("  {:<16} {}\n", pair.name, pair.fault.empty() ? pair.public_key : pair.fault);
  }
  print("let in by the broker of this account:{}\n", allowed->empty() ? " nobody" : "");
  for (const auto& entry : *allowed) {
    std::string bound;
    if (!entry.device_keys.empty())
      bound += fmt::format("  device keys {}", fmt::join(entry.device_keys, ", "));
    if (!entry.boards.empty()) bound += fmt::format("  boards {}", fmt::join(entry.boards, ", "));
    print("  {:<16} {}  {}{}\n", entry.name, entry.public_key, fleet::role_name(entry.role), bound);
  }
  return {};
}

Result<void> allow(const fleet::KeyFolder& folder, const KeysOptions& options) {
  if (auto fits = fleet::check_public_key(options.public_key); !fits) return fits;
  std::optional<wire::Role> role;
  if (options.role) {
    const auto named = fleet::role_from_name(*options.role);
    if (!named) return named.error();
    role = *named;
  }
  fleet::Bindings bindings;
  if (!options.device_keys.empty()) bindings.device_keys = options.device_keys;
  if (!options.boards.empty()) bindings.boards = options.boards;
  const auto allowed =
      fleet::allow_key(folder.allow_file(), options.name, options.public_key, role, bindings);
  if (!allowed) return allowed.error();
  const char* now = fleet::role_name(allowed->role);
  if (allowed->before && *allowed->before != allowed->role) {
    note(fmt::format("the role of '{}' is {} now; it was {}", options.name, now,
                     fleet::role_name(*allowed->before)));
  } else if (allowed->before && !role) {
    note(fmt::format("'{}' was allowed already and stays {}; --role changes that", options.name,
                     now));
  }
  return {};
}

}  // namespace

void add_keys_command(CLI::App& app, int& status) {
  using Action = Result<void> (*)(const fleet::KeyFolder&, const KeysOptions&);
  auto* keys = app.add_subcommand("keys", "Key pairs, and whom the broker lets in");
  keys->require_subcommand(1);
  keys->footer(
      "Keys are in $FETTLE_HOME (default ~/.config/fettle). A running broker reads its "
      "allow list again when it changes.");
  auto options = std::make_shared<KeysOptions>();
  const auto add = [&, options](const char* name, const char* help, Action action) {
    auto* command = keys->add_subcommand(name, help);
    command->callback([options, action, &status] {
      auto home = fleet::fettle_home();
      if (!home) {
        status = fail(home.error());
        return;
      }
      const auto done = action(fleet::KeyFolder(*home), *options);
      status = done ? kFine : fail(done.error());
    });
    return command;
  };
  auto* make = add("new", "Makes a key pair and prints its public half", new_key);
  make->add_option("NAME", options->name, "The pair's name")->required();
  make->add_flag("--json", options->json, "Prints a JSON object");
  auto* list = add("list", "Lists the key pairs and the allow list", list_keys);
  list->add_flag("--json", options->json, "Prints a JSON object");
  auto* let_in = add("allow", "Lets a key in", allow);
  let_in->add_option("NAME", options->name, "For people: whose key it is")->required();
  let_in->add_option("PUBLIC_KEY", options->public_key, "40 characters, from `fettle keys new`")
      ->required();
  let_in
      ->add_option(
          "--role", options->role,
          "client, agent (a board) or builder (`fettle build-worker`); left out: the role that it "
          "has already, else client")
      ->check(CLI::IsMember({"client", "agent", "builder"}));
  let_in
      ->add_option("--device-key", options->device_keys,
                   "A device key that this agent may serve (repeatable; '*': any, as where none "
                   "was ever given)")
      ->allow_extra_args(false);
  let_in
      ->add_option("--board", options->boards,
                   "The id of a board that this agent may be, as `fettle devices` shows it "
                   "(repeatable; '*': any). Where none was ever given: the one that it is first")
      ->allow_extra_args(false);
  auto* revoke = add("revoke", "Lets a key in no more",
                     [](const fleet::KeyFolder& folder, const KeysOptions& chosen) {
                       return fleet::revoke_key(folder.allow_file(), chosen.name);
                     });
  revoke->add_option("NAME", options->name, "As `fettle keys list` shows it")->required();
}

}  // namespace fettle::app
