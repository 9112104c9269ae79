// Boards of one key that are of different kinds: whose trials they get.
#include "host/fleet/device_kind.h"
#include "tests/unit/broker_fixture.h"

namespace fettle::fleet {
namespace {

wire::HelloT board_of(std::uint64_t instance, const std::string& board, const std::string& cpu) {
  wire::HelloT hello = agent_hello(instance, board, "pynq", 1);
  hello.devices[0]->name = cpu;
  return hello;
}

class KindTest : public BrokerTest {
 protected:
  KindTest() {
    say("a", kAgent, board_of(2, "board-1", "Cortex-A9"));
    say("odd", kAgent, board_of(1, "board-0", "Cortex-A53"));
    say("b", kAgent, board_of(3, "board-2", "Cortex-A9"));
    client("c", 10);
  }
  void open_for(const std::string& cpu) {
    wire::OpenSessionT request;
    request.session = 1;
    request.device_key = "pynq";
    request.kind = kind_of(*board_of(1, "board-0", cpu).devices[0]);
    say("c", kClient, std::move(request));
  }
  wire::SessionOpenedT opened(const std::string& peer = "c") {
    auto all = take<wire::SessionOpenedT>(peer);
    EXPECT_FALSE(all.empty());
    return all.empty() ? wire::SessionOpenedT() : std::move(all.back());
  }
};

TEST_F(KindTest, ASessionHasTheBoardsOfTheKindThatMostAre) {
  open("c", 1);
  const auto first = opened();
  EXPECT_EQ(first.boards, 2u);
  EXPECT_EQ(first.unlike, 1u);
  ASSERT_TRUE(first.device);
  EXPECT_EQ(first.device->name, "Cortex-A9");
  for (std::uint64_t i = 0; i < 4; ++i) submit("c", 1, i);
  EXPECT_EQ(assigned("a").size(), 1u);
  EXPECT_EQ(assigned("b").size(), 1u);
  EXPECT_TRUE(assigned("odd").empty());
  // Who names a board knows what it is.
  submit("c", 1, 10, {}, "board-0");
  EXPECT_EQ(assigned("odd").size(), 1u);
}

TEST_F(KindTest, WhatProgramsAreMadeForIsTheClientsWord) {
  open_for("Cortex-A53");
  const auto first = opened();
  EXPECT_EQ(first.boards, 1u);
  EXPECT_EQ(first.unlike, 2u);
  EXPECT_EQ(first.device->name, "Cortex-A53");
  for (std::uint64_t i = 0; i < 4; ++i) submit("c", 1, i);
  EXPECT_TRUE(assigned("a").empty());
  const auto leases = assigned("odd");
  ASSERT_EQ(leases.size(), 1u);
  done("odd", leases[0], measured(1));
  EXPECT_EQ(assigned("odd").size(), 1u) << "the next one goes where the first was";
}

TEST_F(KindTest, BoardsThatAreReservedForItsClientDecide) {
  wire::ReserveBoardT wanted;
  wanted.board = "board-0";
  wanted.seconds = 600;
  say("c", kClient, std::move(wanted));
  ASSERT_FALSE(take<wire::BoardAnswerT>("c").at(0).error);
  open("c", 1);
  EXPECT_EQ(opened().device->name, "Cortex-A53");
  client("d", 11, kOther);
  open("d", 1, 0, kOther);
  EXPECT_EQ(opened("d").device->name, "Cortex-A9");
}

// As after a broker's restart, whose state did not say what a session's programs are made for.
TEST_F(KindTest, AClientThatOpensItsSessionAgainSaysIt) {
  BrokerState state;
  state.instance = 77;
  state.sessions.push_back({{10, 1}, kClient, "pynq", "", 0, 1, ""});
  SavedTrial waits{{{10, 1}, 5}, "", share(encode(small_request(5))), {}, 0};
  state.trials.push_back(waits);
  waits.key.trial = 6;
  state.trials.push_back(waits);
  waits.key.trial = 7;
  state.trials.push_back(waits);
  BrokerCore later{77, times, limits()};
  later.restore(std::move(state), now);
  later.keep_changes();
  const auto hear = [&](const PeerId& peer, const Permission& who, wire::MessageT message) {
    later.receive(peer, who, encode(message), now);
    std::size_t assigned = 0;
    for (const auto& outgoing : later.take_outgoing()) {
      assigned +=
          outgoing.to == peer && decode_message(*outgoing.bytes)->body.AsAssign() != nullptr;
    }
    return assigned;
  };
  EXPECT_EQ(hear("odd", kAgent, message_of(board_of(1, "board-0", "Cortex-A53"))), 1u)
      << "of any kind, as long as nobody says more";
  wire::HelloT hello;
  hello.protocol_version = limits::kProtocolVersion;
  hello.role = wire::Role::Client;
  hello.instance = 10;
  hear("c", kClient, message_of(std::move(hello)));
  wire::OpenSessionT again;
  again.session = 1;
  again.device_key = "pynq";
  again.kind = kind_of(*board_of(1, "", "Cortex-A9").devices[0]);
  hear("c", kClient, message_of(std::move(again)));
  EXPECT_EQ(hear("odder", kAgent, message_of(board_of(4, "board-4", "Cortex-A53"))), 0u);
  EXPECT_EQ(hear("a", kAgent, message_of(board_of(2, "board-1", "Cortex-A9"))), 1u);
  bool saved = false;
  for (const StateChange& change : later.take_changes()) {
    if (const auto* session = std::get_if<SavedSession>(&change)) saved |= !session->kind.empty();
  }
  EXPECT_TRUE(saved) << "so that the next restart knows";
}

TEST_F(KindTest, AKindIsNoLongText) {
  wire::OpenSessionT request;
  request.session = 1;
  request.device_key = "pynq";
  request.kind = std::string(limits::kKeyBytes + 1, 'a');
  EXPECT_FALSE(decode_message(encode(message_of(std::move(request)))).ok());
}

TEST_F(KindTest, NoneOfItsKindIsNoBoardAtAll) {
  open("c", 1);
  take<wire::SessionOpenedT>("c");
  say("a", kAgent, wire::GoodbyeT{});
  say("b", kAgent, wire::GoodbyeT{});
  const auto now_there = opened();
  EXPECT_EQ(now_there.boards, 0u);
  EXPECT_EQ(now_there.unlike, 1u);
  EXPECT_FALSE(now_there.device) << "the odd one is not what its programs are made for";
  submit("c", 1, 1);
  std::vector<wire::CompletedT> completed;
  for (int i = 0; i < 400 && completed.empty(); ++i) {
    beat("odd", kAgent);
    beat("c", kClient);
    pass(milliseconds(500));
    completed = take<wire::CompletedT>("c");
  }
  ASSERT_EQ(completed.size(), 1u);
  const auto outcome = decode_outcome(completed[0].outcome);
  ASSERT_TRUE(outcome.ok() && outcome->body.AsFailure());
  EXPECT_NE(outcome->body.AsFailure()->error->message.find("of another kind than its programs"),
            std::string::npos)
      << outcome->body.AsFailure()->error->message;
}

TEST(DeviceKind, IsWhatProgramsDependOn) {
  wire::DeviceInfoT device;
  device.key = "pynq";
  device.name = "Cortex-A9";
  device.cpu = std::make_unique<wire::CpuFactsT>();
  device.cpu->arch = "armv7";
  device.cpu->features = {"neon", "vfp3"};
  device.cpu->cores = {0, 1};
  const std::string kind = kind_of(device);
  wire::DeviceInfoT other = device;
  other.key = "another";
  other.index = 3;
  other.cpu->features = {"neon", "vfp3", "fp16"};
  other.cpu->cores = {2, 3};
  other.cpu->max_khz = 1;
  EXPECT_EQ(kind_of(other), kind) << "an agent's next version may know more of its features";
  other.cpu->cores = {2};
  EXPECT_NE(kind_of(other), kind);
  other = device;
  other.cpu->arch = "aarch64";
  EXPECT_NE(kind_of(other), kind);
  other = device;
  other.cpu.reset();
  other.gpu = std::make_unique<wire::GpuFactsT>();
  other.gpu->compute_units = 8;
  const std::string gpu = kind_of(other);
  other.gpu->driver_version = "560";
  EXPECT_EQ(kind_of(other), gpu);
  other.gpu->compute_units = 16;
  EXPECT_NE(kind_of(other), gpu);
}

}  // namespace
}  // namespace fettle::fleet
