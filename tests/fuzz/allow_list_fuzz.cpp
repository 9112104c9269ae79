// Any text as the broker's allow list. One that is accepted is written as what is read again.
#include <cstdlib>

#include "host/fleet/allow_list.h"
#include "host/fleet/keys.h"
#include "tests/fuzz/fuzz_target.h"

using namespace fettle;

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const auto list = fleet::parse_allow_list(std::string(data, data + size));
  if (!list) {
    if (list.error().message.empty()) std::abort();
    return 0;
  }
  const std::string text = fleet::format_allow_list(*list);
  const auto again = fleet::parse_allow_list(text);
  if (!again || fleet::format_allow_list(*again) != text) std::abort();
  return 0;
}

std::vector<Bytes> fuzz_seeds() {
  const std::string first(40, 'a'), second = std::string(39, 'b') + "c";
  std::vector<Bytes> seeds;
  for (const std::string& text : {std::string(), std::string("# a note\n"),
                                  fleet::format_allow_list({{"me", wire::Role::Client, first},
                                                            {"pynq-1", wire::Role::Agent, second}}),
                                  "agent  board-2\t" + first + "\r\n\n# end\nclient x " + second}) {
    seeds.emplace_back(text.begin(), text.end());
  }
  return seeds;
}
