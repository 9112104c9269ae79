// Death notes (fault_handler.h). Everything here is async-signal-safe.
#include "agent/worker/fault_handler.h"

#include <sys/mman.h>
#include <sys/syscall.h>
#include <ucontext.h>
#include <unistd.h>
#include <csignal>
#include <cstring>

#include "agent/device/fault_map.h"
#include "agent/sandbox/sandbox.h"

namespace fettle::agent {
namespace {

StatusPage* page = nullptr;
int statm = -1;

struct Machine {
  std::uint64_t program_counter, stack_pointer;
  AccessKind access;
};

Machine read_machine(const ucontext_t* context, int signal) {
  Machine out{0, 0, AccessKind::Unknown};
#if defined(__x86_64__)
  out.program_counter = static_cast<std::uint64_t>(context->uc_mcontext.gregs[REG_RIP]);
  out.stack_pointer = static_cast<std::uint64_t>(context->uc_mcontext.gregs[REG_RSP]);
  if (signal == SIGSEGV && context->uc_mcontext.gregs[REG_TRAPNO] == 14) {
    // The page-fault error code: bit 1 write, bit 4 instruction fetch (SDM 4.7).
    const auto code = context->uc_mcontext.gregs[REG_ERR];
    out.access = code & 16 ? AccessKind::Execute : code & 2 ? AccessKind::Write : AccessKind::Read;
  }
#elif defined(__aarch64__)
  out.program_counter = context->uc_mcontext.pc;
  out.stack_pointer = context->uc_mcontext.sp;
  // Records of the kernel's sigcontext; the ESR is there for faults (not under old qemu).
  constexpr std::uint32_t kEsrMagic = 0x45535201;
  const auto* at = reinterpret_cast<const std::uint8_t*>(context->uc_mcontext.__reserved);
  const auto* end = at + sizeof context->uc_mcontext.__reserved;
  while (signal == SIGSEGV && at + 16 <= end) {
    std::uint32_t magic, size;
    std::memcpy(&magic, at, 4);
    std::memcpy(&size, at + 4, 4);
    if (magic == 0 || size < 8) break;
    if (magic == kEsrMagic) {
      std::uint64_t esr;
      std::memcpy(&esr, at + 8, 8);
      const auto exception_class = esr >> 26 & 0x3f;
      out.access = exception_class == 0x20 ? AccessKind::Execute
                   : esr >> 6 & 1          ? AccessKind::Write
                                           : AccessKind::Read;
      break;
    }
    at += size;
  }
#else
  out.program_counter = context->uc_mcontext.arm_pc;
  out.stack_pointer = context->uc_mcontext.arm_sp;
  if (signal == SIGSEGV && context->uc_mcontext.error_code != 0) {
    out.access = context->uc_mcontext.error_code >> 11 & 1 ? AccessKind::Write : AccessKind::Read;
  }
#endif
  return out;
}

void place_address(std::uintptr_t address, std::uintptr_t stack_pointer) {
  const FaultRegion* region = fault_map().find(address);
  if (!region) {
    // A frame that does not fit touches memory near the stack pointer.
    constexpr std::uintptr_t kNear = 65536;
    const bool near_stack = address + kNear > stack_pointer && address < stack_pointer + kNear;
    page->place = near_stack ? FaultPlace::Stack : FaultPlace::Unmapped;
    return;
  }
  std::memcpy(page->buffer, region->name, sizeof page->buffer);
  std::memcpy(page->role, region->role, sizeof page->role);
  if (region->code) {
    page->place = FaultPlace::Code;
  } else if (address < region->begin) {
    page->place = FaultPlace::BeforeBuffer;
    page->distance = region->begin - address;
  } else if (address >= region->end) {
    page->place = FaultPlace::BehindBuffer;
    page->distance = address - region->end;
  } else {
    page->place = FaultPlace::ReadOnlyBuffer;
    page->distance = address - region->begin;
    // Reading it is allowed: whatever the machine says, this was a write.
    page->access = AccessKind::Write;
  }
}

void on_fault(int signal, siginfo_t* info, void* context) {
  static std::atomic_flag once = ATOMIC_FLAG_INIT;
  if (once.test_and_set()) {
    // A second thread's fault, or one of ours: the first note stands.
    syscall(SYS_exit, kFaultExit);
  }
  const Machine machine = read_machine(static_cast<const ucontext_t*>(context), signal);
  page->in_candidate = fault_map().candidate_running.load() ? 1 : 0;
  page->signal = signal;
  page->program_counter = machine.program_counter;
  page->access = machine.access;
  page->address = 0;
  page->distance = 0;
  page->buffer[0] = page->role[0] = 0;
  page->place = FaultPlace::Unmapped;
  page->address_space_bytes = address_space_bytes(statm);
  FaultKind kind = FaultKind::Access;
  switch (signal) {
    case SIGILL:
      kind = FaultKind::Illegal;
      break;
    case SIGFPE:
      kind = FaultKind::Arithmetic;
      break;
    case SIGABRT:
      kind = FaultKind::Abort;
      break;
    case SIGSYS:
      kind = FaultKind::SystemCall;
      page->system_call = static_cast<std::uint32_t>(info->si_syscall);
      break;
    default:
      page->address = reinterpret_cast<std::uint64_t>(info->si_addr);
      if (machine.program_counter == page->address && page->address != 0) {
        page->access = AccessKind::Execute;
      }
      place_address(reinterpret_cast<std::uintptr_t>(info->si_addr),
                    static_cast<std::uintptr_t>(machine.stack_pointer));
  }
  page->fault_kind.store(kind, std::memory_order_release);
  syscall(SYS_exit_group, kFaultExit);
}

}  // namespace

void install_fault_handlers(StatusPage* status, int statm_fd) {
  page = status;
  statm = statm_fd;
  constexpr std::size_t kStack = 65536;
  void* memory = mmap(nullptr, kStack, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (memory != MAP_FAILED) {
    stack_t stack{};
    stack.ss_sp = memory;
    stack.ss_size = kStack;
    sigaltstack(&stack, nullptr);
  }
  struct sigaction action{};
  action.sa_sigaction = on_fault;
  action.sa_flags = SA_SIGINFO | SA_ONSTACK;
  sigfillset(&action.sa_mask);
  for (int signal : {SIGSEGV, SIGBUS, SIGILL, SIGFPE, SIGSYS, SIGABRT}) {
    sigaction(signal, &action, nullptr);
  }
}

}  // namespace fettle::agent
