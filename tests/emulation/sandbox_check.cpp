// Proves a board's strict sandbox from outside, by the way that every candidate takes:
// sends it hand-made candidates that open a file, open /dev/mem, make a socket or signal
// another process, that crash, abort or never end, each of which the agent must kill and
// name, and after them a good one, which it must measure.
//   sandbox_check BROKER_URL BROKER_KEY DEVICE_KEY
// with this account's client key ($FETTLE_HOME). Exit status 0 when all came true.
#include <cstdio>
#include <optional>
#include <string>

#include "host/fleet/session.h"
#include "schemas/wire/content_hash.h"
#include "tests/support/agent_candidates.h"

namespace fettle::test {
namespace {

using std::chrono::seconds;

struct Case {
  CandidateKind kind;
  const char* does;
  std::optional<wire::ErrorCode> code;  // of its death; none: it is measured
  const char* words = "";               // of the death's message
};
constexpr auto kForbidden = wire::ErrorCode::SandboxViolation;
constexpr Case kCases[] = {{kOpenFile, "opens /etc/passwd", kForbidden, " openat ("},
                           {kOpenMemory, "opens /dev/mem", kForbidden, " openat ("},
                           {kMakeSocket, "makes a socket", kForbidden, " socket ("},
                           {kSignalProcess, "signals another process", kForbidden, " tgkill ("},
                           {kOwnSignals, "hands a descriptor's signals on", kForbidden, " fcntl"},
                           {kCrash, "crashes", wire::ErrorCode::Crash, "0x10"},
                           {kAbort, "aborts", wire::ErrorCode::Crash, "aborted"},
                           {kLoop, "never ends", wire::ErrorCode::RunTimeout, "its limit"},
                           {kGood, "does nothing forbidden"}};

// True when the outcome is what the case asks for; `said` in people's words.
bool as_expected(const Case& one, const wire::OutcomeT& outcome, std::string& said) {
  if (const auto* failure = outcome.body.AsFailure()) {
    said = std::string(name_of(failure->error->code)) + ", " + failure->error->message;
    return failure->error->code == one.code && failure->stage == wire::Stage::Run &&
           failure->error->message.find(one.words) != std::string::npos;
  }
  said = outcome.body.AsMeasurement() ? "measured, its answer is right" : "no outcome";
  return !one.code && outcome.body.AsMeasurement();
}

Result<bool> check(const std::string& url, const std::string& key, const std::string& device) {
  auto home = fleet::fettle_home();
  if (!home) return home.error();
  auto client = fleet::KeyFolder(*home).load("client");
  if (!client) return client.error();
  fleet::SessionPlan plan;
  plan.device_key = device;
  plan.name = "sandbox_check";
  auto session = fleet::Session::open({url, key, *client}, plan);
  if (!session) return session.error();
  const wire::DeviceInfoT& board = (*session)->device();
  const std::string arch = board.cpu ? board.cpu->arch : "";
  if (!have_candidates(arch)) {
    return Error{ErrorCode::NotFound,
                 "no candidates for '" + arch + "': its cross compiler was missing at build time",
                 {}};
  }
  const Bytes answer = candidate_answer();
  const wire::Hash hash = content_hash(answer);
  (*session)->offer_blob(hash, answer);
  bool all = true;
  std::uint64_t trial = 0;
  for (const Case& one : kCases) {
    auto request = candidate_request(one.kind, hash, arch);
    // An emulator beside a busy host is slow; what never ends is not waited for that long.
    request.options->timeout_ms = one.kind == kLoop ? 2'000 : 20'000;
    (*session)->submit(++trial, request);
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
    std::printf("   %s a candidate that %s: %s\n", fine ? "yes:" : "NO: ", one.does, said.c_str());
    std::fflush(stdout);
    all = all && fine;
  }
  return all;
}

}  // namespace
}  // namespace fettle::test

int main(int argc, char** argv) {
  if (argc != 4) {
    std::fprintf(stderr, "usage: sandbox_check BROKER_URL BROKER_KEY DEVICE_KEY\n");
    return 2;
  }
  const auto all = fettle::test::check(argv[1], argv[2], argv[3]);
  if (!all) {
    std::fprintf(stderr, "sandbox_check: %s\n", all.error().text().c_str());
    return 1;
  }
  return *all ? 0 : 1;
}
