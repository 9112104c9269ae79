// Proves a board's FPGA accelerator from outside, by the way that every candidate takes: streams
// that compute are measured, and those that would leave their buffers, or are for another design,
// are refused by name.
//   accelerator_check BROKER_URL BROKER_KEY DEVICE_KEY [refused|hung|lost]
//   refused  (the usual) what must not run, between streams that are measured
//   hung     one stream, which the core never ends: RunTimeout
//   lost     the same, but the logic is reset or erased while it runs: DeviceLost
// with this account's client key ($FETTLE_HOME). Exit status 0 when all came true.
#include <cstdio>
#include <optional>
#include <string>

#include "fpga/config/design.h"
#include "host/fleet/session.h"
#include "schemas/wire/content_hash.h"
#include "tests/support/agent_candidates.h"
#include "tests/support/vta_candidates.h"

namespace fettle::test {
namespace {

using std::chrono::seconds;

struct Case {
  const char* does;
  std::optional<wire::ErrorCode> code;  // none: it is measured
  wire::Stage stage = wire::Stage::Run;
  CandidateKind kind = kGood;
  void (*change)(wire::ProgramT& program, const vta::Design& design) = nullptr;
};

void leave_the_input(wire::ProgramT& program, const vta::Design&) {
  wire::Relocation& load = program.launches.front()->relocations[kLoadInput];
  load = {load.instruction(), load.buffer(), 16};  // one element on: the last is behind its end
}

void take_an_address(wire::ProgramT& program, const vta::Design&) {
  program.launches.front()->relocations.erase(program.launches.front()->relocations.begin() +
                                              kLoadInput);
}

void be_of_another_design(wire::ProgramT& program, const vta::Design& design) {
  const auto& all = vta::designs();
  const vta::Design& other = all.front().name == design.name ? all.back() : all.front();
  program.images.front()->configuration = vta::configuration_of(other);
}

constexpr auto kLoad = wire::Stage::Load;
constexpr Case kRefused[] = {
    {"computes", std::nullopt},
    {"stores behind its output", wire::ErrorCode::Malformed, kLoad, kWriteBehind},
    {"loads from behind its input", wire::ErrorCode::Malformed, kLoad, kGood, leave_the_input},
    {"brings an address of its own", wire::ErrorCode::Malformed, kLoad, kGood, take_an_address},
    {"is for another design", wire::ErrorCode::WrongConfiguration, kLoad, kGood,
     be_of_another_design},
    {"takes a million steps", std::nullopt, kLoad, kSlow},
    {"computes, after all that", std::nullopt}};
constexpr Case kHung[] = {{"meets a core that hangs", wire::ErrorCode::RunTimeout}};
constexpr Case kLost[] = {{"loses the logic that it runs on", wire::ErrorCode::DeviceLost}};

bool as_expected(const Case& one, const wire::OutcomeT& outcome, std::string& said) {
  if (const auto* failure = outcome.body.AsFailure()) {
    said = std::string(name_of(failure->error->code)) + ", " + failure->error->message;
    return failure->error->code == one.code && failure->stage == one.stage;
  }
  said = outcome.body.AsMeasurement() ? "measured, its answer is right" : "no outcome";
  return !one.code && outcome.body.AsMeasurement();
}

wire::MeasureRequestT request_of(const Case& one, const vta::Design& design,
                                 fleet::Session& session) {
  const Bytes answer = vta_candidate_answer();
  const wire::Hash hash = content_hash(answer);
  session.offer_blob(hash, answer);
  wire::MeasureRequestT request = candidate_request(kGood, hash);
  *request.program = vta_candidate_program(one.kind);
  request.program->images.front()->configuration = vta::configuration_of(design);
  if (one.change) one.change(*request.program, design);
  request.expected[0]->dtype = wire::ScalarType::Int8;
  request.options->timeout_ms = 40'000;
  for (const auto& buffer : request.program->buffers) {
    if (!buffer->fill || !buffer->fill->blob) continue;
    const ByteView blob = vta_candidate_blob(*buffer->fill->blob);
    session.offer_blob(*buffer->fill->blob, Bytes(blob.begin(), blob.end()));
  }
  return request;
}

Result<bool> check(const std::string& url, const std::string& key, const std::string& device,
                   std::span<const Case> cases) {
  auto home = fleet::fettle_home();
  if (!home) return home.error();
  auto client = fleet::KeyFolder(*home).load("client");
  if (!client) return client.error();
  fleet::SessionPlan plan;
  plan.device_key = device;
  plan.name = "accelerator_check";
  auto session = fleet::Session::open({url, key, *client}, plan);
  if (!session) return session.error();
  const wire::DeviceInfoT& board = (*session)->device();
  const std::string configuration = board.fpga ? board.fpga->configuration : "";
  const auto design = vta::find_design(configuration.substr(0, configuration.find(' ')));
  if (!design) return design.error();
  bool all = true;
  std::uint64_t trial = 0;
  for (const Case& one : cases) {
    (*session)->submit(++trial, request_of(one, *design, **session));
    std::string said = "no answer in a minute";
    bool fine = false;
    for (const auto end = std::chrono::steady_clock::now() + seconds(60);
         std::chrono::steady_clock::now() < end;) {
      auto measured = (*session)->poll(seconds(1));
      if (!measured) return measured.error();
      if (measured->empty()) continue;
      fine = as_expected(one, measured->front().outcome, said);
      break;
    }
    std::printf("   %s a stream that %s: %s\n", fine ? "yes:" : "NO: ", one.does, said.c_str());
    std::fflush(stdout);
    all = all && fine;
  }
  return all;
}

}  // namespace
}  // namespace fettle::test

int main(int argc, char** argv) {
  using namespace fettle::test;
  const std::string what = argc == 5 ? argv[4] : "refused";
  const bool known = what == "refused" || what == "hung" || what == "lost";
  if (argc < 4 || argc > 5 || !known) {
    std::fprintf(stderr,
                 "usage: accelerator_check BROKER_URL BROKER_KEY DEVICE_KEY [refused|hung|lost]\n");
    return 2;
  }
  const std::span<const Case> cases = what == "hung"   ? std::span<const Case>(kHung)
                                      : what == "lost" ? std::span<const Case>(kLost)
                                                       : std::span<const Case>(kRefused);
  const auto all = check(argv[1], argv[2], argv[3], cases);
  if (!all) {
    std::fprintf(stderr, "accelerator_check: %s\n", all.error().text().c_str());
    return 1;
  }
  return *all ? 0 : 1;
}
