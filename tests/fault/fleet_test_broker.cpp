// A broker in a process of its own, to be killed: LISTEN HOME STATE. Its keys and allow list are
// in HOME. Prints where it listens and its public key.
#include <unistd.h>
#include <cstdio>

#include "host/fleet/broker.h"

int main(int count, char** words) {
  using namespace fettle::fleet;
  if (count != 4) return 2;
  const KeyFolder folder(words[2]);
  auto keys = folder.load_or_create("broker");
  if (!keys) return 3;
  BrokerOptions options;
  options.listen = words[1];
  options.keys = *keys;
  options.allow_file = folder.allow_file();
  options.times = {milliseconds(50), milliseconds(3000), milliseconds(20'000)};
  options.state_folder = words[3];
  options.log = [](const std::string& line) { std::fprintf(stderr, "%s\n", line.c_str()); };
  auto broker = Broker::start(std::move(options));
  if (!broker) {
    std::fprintf(stderr, "%s\n", broker.error().text().c_str());
    return 4;
  }
  std::printf("%s %s\n", (*broker)->endpoint().c_str(), (*broker)->public_key().c_str());
  std::fflush(stdout);
  while (::getppid() != 1) ::usleep(100'000);
  return 0;
}
