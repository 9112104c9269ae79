// Reading death notes (death_note.h).
#include "agent/server/death_note.h"

#include <sys/wait.h>
#include <cstdio>
#include <cstring>

#include "agent/sandbox/sandbox.h"
#include "schemas/wire/codec.h"

namespace fettle::agent {
namespace {

std::string hex(std::uint64_t value) {
  char text[24];
  std::snprintf(text, sizeof text, "0x%llx", static_cast<unsigned long long>(value));
  return text;
}

std::string mib(std::uint64_t bytes) { return std::to_string(bytes >> 20) + " MiB"; }

// The worker's own address space grew while the candidate ran, or hit its limit.
bool out_of_memory(const StatusPage& page) {
  return page.address_space_limit > 0 && page.address_space_before > 0 &&
         page.address_space_bytes > page.address_space_before + (std::uint64_t{1} << 20);
}

const char* did(AccessKind access) {
  switch (access) {
    case AccessKind::Read:
      return "read";
    case AccessKind::Write:
      return "wrote";
    case AccessKind::Execute:
      return "jumped";
    case AccessKind::Unknown:
      break;
  }
  return "touched memory";
}

// buffer and role are 0-terminated unless something wrote over the page.
std::string buffer_name(const StatusPage& page) {
  const std::string role(page.role, strnlen(page.role, sizeof page.role));
  const std::string name(page.buffer, strnlen(page.buffer, sizeof page.buffer));
  return role + " buffer '" + name + "'";
}

Error access_error(const StatusPage& page) {
  const std::string at = hex(page.address);
  const std::string distance = std::to_string(page.distance) + " bytes";
  const std::string verb = did(page.access);
  const bool stray = page.access != AccessKind::Read && page.access != AccessKind::Execute;
  const ErrorCode code = stray ? ErrorCode::StrayWrite : ErrorCode::Crash;
  switch (page.place) {
    case FaultPlace::BehindBuffer:
      return {code, verb + " behind " + buffer_name(page) + ", " + distance + " off its end"};
    case FaultPlace::BeforeBuffer:
      return {code, verb + " before " + buffer_name(page) + ", " + distance + " off its start"};
    case FaultPlace::ReadOnlyBuffer:
      return {ErrorCode::StrayWrite, "wrote to the read-only " + buffer_name(page) + " at byte " +
                                         std::to_string(page.distance)};
    case FaultPlace::Code:
      return {code, verb + (page.access == AccessKind::Execute ? " to a part of" : " in") +
                        std::string(" its own image that does not allow it, at ") + at};
    case FaultPlace::Stack:
      return {ErrorCode::Crash, "ran out of stack at " + at};
    case FaultPlace::Unmapped:
      break;
  }
  if (page.access == AccessKind::Execute) {
    return {ErrorCode::Crash, "jumped to " + at + ", where no code is"};
  }
  return {ErrorCode::Crash, verb + " at " + at + ", which belongs to no buffer, from code at " +
                                hex(page.program_counter)};
}

Error fault_error(const StatusPage& page) {
  const std::string where = " at " + hex(page.program_counter);
  switch (page.fault_kind.load()) {
    case FaultKind::SystemCall: {
      const std::string name = system_call_name(page.system_call);
      return {ErrorCode::SandboxViolation, "forbidden system call " +
                                               (name.empty() ? "" : name + " ") + "(" +
                                               std::to_string(page.system_call) + ")"};
    }
    case FaultKind::Illegal:
      return {ErrorCode::Crash, "illegal instruction" + where};
    case FaultKind::Arithmetic:
      return {ErrorCode::Crash, "arithmetic fault" + where};
    case FaultKind::Abort:
      if (page.in_candidate) return {ErrorCode::Crash, "aborted" + where};
      return {ErrorCode::OutOfMemory, "the worker ran out of memory outside the candidate"};
    case FaultKind::Access:
      if (page.place != FaultPlace::Stack && out_of_memory(page)) {
        return {ErrorCode::OutOfMemory,
                "mapped " + mib(page.address_space_bytes - page.address_space_before) +
                    " by itself; the worker's limit is " + mib(page.address_space_limit) +
                    "; then " + access_error(page).message};
      }
      return access_error(page);
    case FaultKind::None:
      break;
  }
  return {ErrorCode::WorkerLost, "the worker died without a note"};
}

}  // namespace

wire::FailureT read_death_note(const StatusPage& page, int wait_status, KillReason reason,
                               std::uint64_t run_limit_ns) {
  const WorkerPhase phase = page.phase.load(std::memory_order_acquire);
  const wire::Stage stage = phase == WorkerPhase::Load    ? wire::Stage::Load
                            : phase == WorkerPhase::Check ? wire::Stage::Check
                                                          : wire::Stage::Run;
  const std::uint64_t limit_ms = run_limit_ns / 1'000'000;
  switch (reason) {
    case KillReason::RunTimeout:
      return make_failure(wire::Stage::Run,
                          {ErrorCode::RunTimeout,
                           "ran longer than its limit of " + std::to_string(limit_ms) + " ms"});
    case KillReason::LoadTimeout:
      return make_failure(
          wire::Stage::Load,
          {ErrorCode::RunTimeout, "loading (with packing of constants) went on for too long"});
    case KillReason::CheckTimeout:
      return make_failure(wire::Stage::Check,
                          {ErrorCode::Timeout, "checking the outputs went on for too long"});
    case KillReason::TrialTimeout:
      return make_failure(wire::Stage::Run,
                          {ErrorCode::RunTimeout,
                           "was not over when the limits of all its stages together had passed"});
    case KillReason::ForgedReply:
      return make_failure(wire::Stage::Run,
                          {ErrorCode::SandboxViolation,
                           "the worker sent what none of ours sends: the candidate wrote into its "
                           "channel to the agent, or over its memory"});
    case KillReason::Stopping:
      return make_failure(stage, {ErrorCode::Canceled, "the agent is stopping"});
    case KillReason::Unwanted:
      return make_failure(stage, {ErrorCode::Canceled, "the broker wants it no longer"});
    case KillReason::OtherSession:
    case KillReason::NeverReady:
    case KillReason::None:
      break;
  }
  if (page.fault_kind.load(std::memory_order_acquire) != FaultKind::None) {
    Error error = fault_error(page);
    if (!page.in_candidate && error.code == ErrorCode::Crash) {
      error = {ErrorCode::WorkerLost, "the worker died outside the candidate: " + error.message};
    }
    return make_failure(stage, std::move(error));
  }
  if (WIFSIGNALED(wait_status)) {
    return make_failure(
        stage, {ErrorCode::WorkerLost,
                "the worker was killed by signal " + std::to_string(WTERMSIG(wait_status)) +
                    ", not by the agent (the kernel, for want of memory, or a person)"});
  }
  return make_failure(stage,
                      {ErrorCode::Crash, "the candidate ended the worker process with status " +
                                             std::to_string(WEXITSTATUS(wait_status))});
}

}  // namespace fettle::agent
