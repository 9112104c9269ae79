// Any conversation with the broker's state machine: four peers (two clients, two
// agents) that say anything. Input: steps of one byte peer and passed time, two
// bytes length, then the message.
#include <cstdlib>

#include "host/fleet/broker_core.h"
#include "tests/fuzz/fuzz_target.h"
#include "tests/protocol/wire_samples.h"

using namespace fettle;

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  fleet::BrokerLimits limits;
  limits.in_flight = 4;
  limits.blob_bytes = 1024;
  fleet::BrokerCore core(7, {}, limits);
  auto now = fleet::TimePoint() + std::chrono::hours(1);
  for (std::size_t at = 0; at + 3 <= size;) {
    const std::uint8_t head = data[at];
    const std::size_t length =
        std::min<std::size_t>(data[at + 1] | data[at + 2] << 8, size - at - 3);
    const bool agent = head & 1;
    const std::string name = std::string(agent ? "agent" : "client") + (head & 2 ? "-1" : "-2");
    const fleet::Permission who{name, agent ? wire::Role::Agent : wire::Role::Client, name};
    now += fleet::milliseconds((head >> 3) * 200);
    if (head & 4) core.unreachable(name, now);
    core.receive(name, who, {data + at + 3, length}, now);
    core.tick(now);
    for (const auto& outgoing : core.take_outgoing()) {
      if (!decode_message(*outgoing.bytes)) std::abort();  // it never says what it would not read
    }
    at += 3 + length;
  }
  core.device_list();
  return 0;
}

namespace {
void add(Bytes& seed, std::uint8_t head, const Bytes& message) {
  seed.push_back(head);
  seed.push_back(static_cast<std::uint8_t>(message.size()));
  seed.push_back(static_cast<std::uint8_t>(message.size() >> 8));
  seed.insert(seed.end(), message.begin(), message.end());
}
}  // namespace

std::vector<Bytes> fuzz_seeds() {
  const auto samples = message_samples();
  const auto named = [&](const std::string& name) {
    for (const auto& sample : samples)
      if (sample.name == name) return sample.bytes;
    std::abort();
  };
  wire::HelloT client = *decode_message(named("Hello"))->body.AsHello();
  client.role = wire::Role::Client;
  wire::HelloT agent = *decode_message(named("Hello"))->body.AsHello();
  agent.devices[0]->index = 0;
  Bytes all;  // a whole session, in order
  add(all, 1, encode(message_of(std::move(agent))));
  add(all, 0, encode(message_of(std::move(client))));
  for (const char* name : {"OpenSession", "Submit", "PutBlob", "Submit", "Cancel", "ListDevices"}) {
    add(all, 0, named(name));
  }
  for (const char* name : {"BlobsWanted", "Done", "Heartbeat"}) add(all, 1, named(name));
  for (const char* name : {"Heartbeat", "CloseSession"}) add(all, 0, named(name));
  std::vector<Bytes> seeds = {all};
  for (const auto& sample : samples) {
    Bytes one = all;
    add(one, 0, sample.bytes);
    add(one, 1, sample.bytes);
    seeds.push_back(std::move(one));
  }
  return seeds;
}
