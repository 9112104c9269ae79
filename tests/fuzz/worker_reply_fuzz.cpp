// Any frame of a worker, whose memory a candidate may have written, on the supervisor's way to the
// broker: read, its outcome decoded and sent on.
#include <cstdlib>

#include "agent/worker/request_link.h"
#include "tests/fuzz/fuzz_target.h"
#include "tests/protocol/wire_samples.h"

using namespace fettle;

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const auto reply = agent::decode_reply({data, size});
  if (!reply) return 0;
  switch (reply->kind) {
    case agent::ReplyKind::Ready:
      if (!decode_device_info(encode(reply->info))) std::abort();
      break;
    case agent::ReplyKind::Refusal:
      if (reply->note.size() + 1 != size) std::abort();
      break;
    case agent::ReplyKind::Outcome: {
      if (agent::encode_outcome_reply(reply->ticket, reply->outcome) != Bytes(data, data + size)) {
        std::abort();
      }
      auto outcome = decode_outcome(reply->outcome);
      if (!outcome) return 0;
      outcome->board_id = "board";
      if (!decode_outcome(encode(*outcome))) std::abort();
      break;
    }
  }
  return 0;
}

std::vector<Bytes> fuzz_seeds() {
  wire::DeviceInfoT info;
  info.key = "pynq";
  std::vector<Bytes> seeds = {agent::encode_ready(info, "a note"), agent::encode_refusal("no GPU")};
  for (const auto& decoder : decoders()) {
    for (const auto& sample : decoder.samples) {
      if (decode_outcome(sample.bytes)) {
        seeds.push_back(agent::encode_outcome_reply(0x123456789abcdef, sample.bytes));
      }
      if (auto device = decode_device_info(sample.bytes)) {
        seeds.push_back(agent::encode_ready(*device, ""));
      }
    }
  }
  return seeds;
}
