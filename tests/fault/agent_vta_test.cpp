// A real agent process with a simulated accelerator, against a real broker.
#include <sys/wait.h>
#include <csignal>

#include "agent/fpga/helper_protocol.h"
#include "tests/fault/agent_fault.h"
#include "tests/support/running_program.h"
#include "tests/support/vta_candidates.h"

namespace fettle {
namespace {

// An accelerator as a second device of the same agent, over the same protocol.
TEST_F(AgentFault, MeasuresOnASimulatedAccelerator) {
  auto agent = start_agent(broker->endpoint(), broker->public_key(), agent_keys,
                           {"--key", "cpu", "--key", "board", "--device-kind", "vta"});
  ASSERT_TRUE(said(*agent, "registered", 10'000)) << agent->log();
  auto session = open_session();
  ASSERT_TRUE(session);
  EXPECT_EQ(session->device().kind, wire::DeviceKind::Vta);
  EXPECT_EQ(session->device().name, "VTA design pynq, simulated");
  const Bytes doubled = test::vta_candidate_answer();
  session->offer_blob(content_hash(doubled), doubled);
  for (std::uint64_t i = 0; i < 6; ++i) {
    auto request = test::candidate_request(kGood, content_hash(doubled));
    *request.program = test::vta_candidate_program(i % 3 == 2 ? kWriteBehind : kGood);
    request.expected[0]->dtype = wire::ScalarType::Int8;
    for (const auto& buffer : request.program->buffers) {
      if (!buffer->fill || !buffer->fill->blob) continue;
      const ByteView blob = test::vta_candidate_blob(*buffer->fill->blob);
      session->offer_blob(*buffer->fill->blob, Bytes(blob.begin(), blob.end()));
    }
    session->submit(i, std::move(request));
  }
  for (const auto& [trial, measured] : collect(*session, 6)) {
    const auto* failure = measured.outcome.body.AsFailure();
    EXPECT_EQ(failure != nullptr, trial % 3 == 2) << trial;
    if (failure) {
      EXPECT_EQ(failure->error->code, ErrorCode::Malformed) << failure->error->message;
    }
    EXPECT_EQ(measured.outcome.device_index, 1u);
  }
}

// One that was named, but is not there: the log says why, and the agent offers the rest.
TEST_F(AgentFault, RegistersWithoutAnAcceleratorThatIsNotThere) {
  auto agent = start_agent(broker->endpoint(), broker->public_key(), agent_keys,
                           {"--key", "board", "--key", "pynq-vta", "--device-kind", "vta",
                            "--vta-core", "board", "--vta-bitstream", "/nonexistent/x.bit"});
  ASSERT_TRUE(said(*agent, "registered", 10'000)) << agent->log();
  EXPECT_NE(agent->log().find("device 'pynq-vta': /nonexistent/x.bit: No such file or directory"),
            std::string::npos)
      << agent->log();
  auto session = open_session();
  ASSERT_TRUE(session);
  EXPECT_EQ(session->device().kind, wire::DeviceKind::Cpu);
}

// The helper as a service is given its socket.
TEST_F(AgentFault, AHelperWithoutASocketSaysWhoPassesIt) {
  const auto done = testing::run_program({FETTLE_AGENT, "--fpga-helper"});
  EXPECT_EQ(done.status, 2);
  EXPECT_NE(done.err.find("fettle-fpga.socket"), std::string::npos) << done.err;
}

TEST_F(AgentFault, AHelperServesTheSocketThatItIsPassed) {
  std::string address;
  auto listening = agent::listen_for_workers(address);
  ASSERT_TRUE(listening.ok());
  const pid_t pid = fork();
  if (pid == 0) {
    dup2(listening->get(), 3);
    execl("/bin/sh", "sh", "-c", "LISTEN_PID=$$ LISTEN_FDS=1 exec \"$@\"", "sh", FETTLE_AGENT,
          "--fpga-helper", "--key", "pynq-vta", "--device-kind", "vta", "--vta-core", "board",
          "--vta-bitstream", "/nonexistent/x.bit", nullptr);
    _exit(127);
  }
  auto socket = agent::connect_to_helper(address);
  ASSERT_TRUE(socket.ok()) << socket.error().text();
  for (const auto& [key, words] : {std::pair{"pynq-vta", "/nonexistent/x.bit: No such file"},
                                   std::pair{"cpu", "has no accelerator 'cpu'"}}) {
    agent::HelperRequest request;
    agent::put_text(request.key, key);
    ASSERT_TRUE(agent::send_helper_request(socket->get(), request).ok());
    const auto reply = agent::receive_helper_reply(socket->get());
    ASSERT_TRUE(reply.ok()) << reply.error().text();
    const std::string text = agent::get_text(reply->reply.text);
    EXPECT_NE(text.find(words), std::string::npos) << text;
  }
  kill(pid, SIGTERM);
  int status = -1;
  ASSERT_EQ(waitpid(pid, &status, 0), pid);
  EXPECT_EQ(status, 0);
}

}  // namespace
}  // namespace fettle
