// Tuning sessions against agents of the two Arm architectures under qemu-user: all
// answers right, and no fused multiply-add in code for a Cortex-A9.
#include <csignal>

#include "host/backend/backend.h"
#include "host/backend/cpu_llvm/disassemble.h"
#include "host/fleet/broker.h"
#include "host/fleet/local_agent.h"
#include "host/space/workload.h"
#include "tests/e2e/tune_support.h"

namespace fettle::testing {
namespace {

struct Board {
  const char* arch;
  const char* emulator;
  const char* cpu;
};

std::string find_emulator(const std::string& name) {
  for (const std::string& candidate : {"/usr/bin/" + name + "-static", "/usr/bin/" + name}) {
    if (access(candidate.c_str(), X_OK) == 0) return candidate;
  }
  return "";
}

std::string agent_of(const std::string& arch) {
  const std::string file = std::string(FETTLE_AGENTS_FOLDER) + "/" + arch + "/fettle-agent";
  return access(file.c_str(), X_OK) == 0 ? file : "";
}

class EmulatedBoard : public TuneTest, public ::testing::WithParamInterface<Board> {};

TEST_P(EmulatedBoard, FiftyTrialsAllCorrect) {
  const Board board = GetParam();
  const std::string emulator = find_emulator(board.emulator), program = agent_of(board.arch);
  if (emulator.empty()) GTEST_SKIP() << "no " << board.emulator << ": ./dev setup installs it";
  if (program.empty()) {
    GTEST_SKIP() << "no " << board.arch << " agent in " << FETTLE_AGENTS_FOLDER << ": ./dev agents";
  }
  // A broker that knows this account's client key, and an agent with a key of its own.
  const fleet::KeyFolder home(folder.file("home"));
  std::filesystem::create_directories(folder.file("home"));
  const auto broker_keys = home.create("broker").value();
  const auto client_keys = home.create("client").value();
  const auto agent_keys = fleet::make_key_pair().value();
  fleet::BrokerOptions broker_options;
  broker_options.keys = broker_keys;
  broker_options.allowed = {{"client", wire::Role::Client, client_keys.public_key},
                            {"agent", wire::Role::Agent, agent_keys.public_key}};
  auto broker = fleet::Broker::start(broker_options);
  ASSERT_TRUE(broker.ok()) << broker.error().text();
  fleet::LocalAgentOptions options;
  options.program = program;
  options.prefix = {emulator, "-cpu", board.cpu};
  options.broker_url = (*broker)->endpoint();
  options.broker_public_key = (*broker)->public_key();
  options.keys = agent_keys;
  options.device_key = board.arch;
  options.arguments = {"--cpu", board.cpu, "--emulated", "--threads", "1", "--allow-unsandboxed"};
  auto agent = fleet::LocalAgent::start(std::move(options));
  ASSERT_TRUE(agent.ok()) << agent.error().text();
  const fleet::BrokerAddress address{(*broker)->endpoint(), (*broker)->public_key(), client_keys};
  auto registered = (*agent)->wait_registered(address, std::chrono::seconds(60));
  ASSERT_TRUE(registered.ok()) << registered.error().text();

  const auto result = run_program(tune({"--trials", "60", "--device", board.arch, "--broker",
                                        address.url, "--hardware", "threads=1", "--timeout", "20"}),
                                  std::chrono::seconds(540), environment());
  ASSERT_EQ(result.status, 0) << result.err;
  const Session session = parse(result.out);
  EXPECT_EQ(session.trials.size(), 60u);
  expect_sound_database(60);

  std::set<std::string> looked_at;
  for (const records::TuningRecord& record : records()) {
    if (record.program_hash.empty() || !looked_at.insert(record.program_hash).second) continue;
    const auto workload = space::Workload::parse(record.workload).value();
    const auto target = space::CpuTarget::parse(record.target).value();
    EXPECT_EQ(target.arch, board.arch);
    if (target.arch != "armv7") continue;
    EXPECT_FALSE(target.fma);
    const auto task = backend::open_task(workload.dag(), target.target()).value();
    const auto built = task->build(task->space().parse(record.configuration).value());
    ASSERT_TRUE(built.ok()) << built.error().text();
    EXPECT_EQ(to_hex(*built->program_hash), record.program_hash) << "rebuilt from the record alone";
    for (const auto& image : built->program->images) {
      const auto code = backend::cpu_llvm::disassemble(*image, target);
      ASSERT_TRUE(code.ok()) << code.error().text();
      for (const auto& instruction : *code) {
        EXPECT_FALSE(backend::cpu_llvm::is_fused(target.arch, instruction.mnemonic))
            << instruction.mnemonic;
      }
    }
  }
  EXPECT_GE(looked_at.size(), 20u);
}

INSTANTIATE_TEST_SUITE_P(Arm, EmulatedBoard,
                         ::testing::Values(Board{"aarch64", "qemu-aarch64", "cortex-a72"},
                                           Board{"armv7", "qemu-arm", "cortex-a9"}),
                         [](const auto& info) { return std::string(info.param.arch); });

}  // namespace
}  // namespace fettle::testing
