// Board identity (board.h).
#include "agent/platform/board.h"

#include <sys/utsname.h>

#include "schemas/wire/content_hash.h"

#ifndef FETTLE_VERSION
#define FETTLE_VERSION "0.1.0"
#endif

namespace fettle::agent {

const char* agent_version() { return FETTLE_VERSION; }

wire::BoardT read_board(const SystemRoot& root, const std::string& model,
                        std::uint64_t agent_instance) {
  wire::BoardT board;
  board.agent_version = agent_version();
  board.agent_instance = agent_instance;
  utsname names{};
  if (uname(&names) == 0) {
    board.hostname = names.nodename;
    board.kernel = std::string(names.sysname) + " " + names.release;
  }
  auto first_of = [&](std::initializer_list<const char*> paths) {
    for (const char* path : paths) {
      const auto text = root.text(path);
      if (text && !text->empty()) return *text;
    }
    return std::string();
  };
  board.model = model.empty()
                    ? first_of({"/proc/device-tree/model", "/sys/firmware/devicetree/base/model",
                                "/sys/class/dmi/id/product_name"})
                    : model;
  board.serial =
      first_of({"/proc/device-tree/serial-number", "/sys/firmware/devicetree/base/serial-number"});
  const std::string machine = first_of({"/etc/machine-id", "/var/lib/dbus/machine-id"});
  std::string identity = "fettle board\n" + board.model + "\n";
  identity += !board.serial.empty() ? board.serial : !machine.empty() ? machine : board.hostname;
  const auto hash =
      content_hash({reinterpret_cast<const std::uint8_t*>(identity.data()), identity.size()});
  board.id = to_hex(hash).substr(0, 16);
  return board;
}

}  // namespace fettle::agent
