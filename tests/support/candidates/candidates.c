// Hand-made candidates (candidates.h), compiled freestanding and flattened: no
// imports, no writable data, position independent, entry point at offset 0.
#include "candidates.h"

typedef int int32;
typedef long long int64;
typedef unsigned long word;

static word call_system(word number, word a, word b, word c, word d, word e, word f) {
#if defined(__x86_64__)
  word result;
  register word r10 __asm__("r10") = d;
  register word r8 __asm__("r8") = e;
  register word r9 __asm__("r9") = f;
  __asm__ volatile("syscall"
                   : "=a"(result)
                   : "a"(number), "D"(a), "S"(b), "d"(c), "r"(r10), "r"(r8), "r"(r9)
                   : "rcx", "r11", "memory");
  return result;
#elif defined(__aarch64__)
  register word x8 __asm__("x8") = number;
  register word x0 __asm__("x0") = a;
  register word x1 __asm__("x1") = b;
  register word x2 __asm__("x2") = c;
  register word x3 __asm__("x3") = d;
  register word x4 __asm__("x4") = e;
  register word x5 __asm__("x5") = f;
  __asm__ volatile("svc 0" : "+r"(x0) : "r"(x8), "r"(x1), "r"(x2), "r"(x3), "r"(x4), "r"(x5)
                   : "memory");
  return x0;
#elif defined(__arm__) && !defined(__thumb__)
  register word r7 __asm__("r7") = number;
  register word r0 __asm__("r0") = a;
  register word r1 __asm__("r1") = b;
  register word r2 __asm__("r2") = c;
  register word r3 __asm__("r3") = d;
  register word r4 __asm__("r4") = e;
  register word r5 __asm__("r5") = f;
  __asm__ volatile("svc 0" : "+r"(r0) : "r"(r7), "r"(r1), "r"(r2), "r"(r3), "r"(r4), "r"(r5)
                   : "memory");
  return r0;
#else
#error "candidates are made for x86-64, AArch64 and ARMv7 (-marm)"
#endif
}

#if defined(__x86_64__)
enum { kMmap = 9, kGetuid = 102, kOpen = 257, kSocket = 41, kExitGroup = 231, kTgkill = 234,
       kFcntl = 72, kGetpid = 39, kGettid = 186,
       kRecvmsg = 47, kSendto = 44, kMprotect = 10, kMremap = 25, kFutex = 202, kRead = 0 };
#elif defined(__aarch64__)
enum { kMmap = 222, kGetuid = 174, kOpen = 56, kSocket = 198, kExitGroup = 94, kTgkill = 131,
       kFcntl = 25, kGetpid = 172, kGettid = 178,
       kRecvmsg = 212, kSendto = 206, kMprotect = 226, kMremap = 216, kFutex = 98, kRead = 63 };
#else
enum { kMmap = 192 /* mmap2 */, kGetuid = 199, kOpen = 322, kSocket = 281, kExitGroup = 248,
       kTgkill = 268, kFcntl = 221 /* fcntl64 */, kGetpid = 20, kGettid = 224,
       kRecvmsg = 297, kSendto = 290, kMprotect = 125, kMremap = 163, kFutex = 240, kRead = 3 };
#endif

static word map_memory(word bytes) {
  return call_system(kMmap, 0, bytes, 3 /* read, write */, 0x22 /* private, anonymous */,
                     (word)-1, 0);
}

// Whether any descriptor is a socket with something to read; leaves it there.
static int32 finds_message(void) {
  char byte;
  struct { void* base; word length; } part = {&byte, 1};
  struct { void* name; word name_length; void* parts; word count; void* control; word control_length;
           word flags; } message = {0, 0, &part, 1, 0, 0, 0};
  for (word fd = 0; fd < 64; ++fd) {
    const long got = (long)call_system(kRecvmsg, fd, (word)&message, 0x42 /* PEEK, DONTWAIT */, 0, 0, 0);
    if (got > 0) return 1;
  }
  return 0;
}

// A file that is covered by another can be opened, and is empty.
static int32 reads_key(void) {
  char byte;
  const long file = (long)call_system(kOpen, (word)-100, (word) "secret.key", 0, 0, 0, 0);
  return file >= 0 && (long)call_system(kRead, (word)file, (word)&byte, 1, 0, 0, 0) > 0;
}

// An outcome of each of the first trials, as a frame of a worker's (agent/worker/request_link.h).
static void forge(void) {
  unsigned char frame[4 + 1 + 8 + 4] = {13, 0, 0, 0, 1 /* Outcome */};
  for (word fd = 3; fd < 64; ++fd) {
    for (unsigned char ticket = 1; ticket < 4; ++ticket) {
      frame[5] = ticket;
      call_system(kSendto, fd, (word)frame, sizeof frame, 0x4000 /* NOSIGNAL */, 0, 0);
    }
  }
}

static int32 recurse(volatile int32* depth) {
  volatile int32 block[256];
  block[0] = *depth + 1;
  if (block[0] < 0) return 0;  /* never: the stack ends long before */
  return recurse(block) + block[0];
}

__attribute__((noinline)) static void good(const float* in, float* out, int32 begin, int32 end) {
  for (int32 i = begin; i < end; ++i) out[i] = 2 * in[i];
}

__attribute__((section(".text.entry"))) void entry(void* const* args, int32 begin, int32 end,
                                                   int32 thread) {
  float* in = (float*)args[0];
  float* out = (float*)args[1];
  const int64 kind = *(const int64*)args[2];
  switch (kind) {
    case kCrash: out[0] = (float)*(volatile int32*)16; break;
    case kLoop: for (;;) __asm__ volatile("" ::: "memory");
    case kAllocate:
      for (;;) {
        volatile char* at = (volatile char*)map_memory((word)16 << 20);
        *at = 1;
      }
    case kAllocateAndReturn: map_memory((word)64 << 20); break;
    case kForbiddenCall: call_system(kGetuid, 0, 0, 0, 0, 0, 0); break;
    case kOpenFile: call_system(kOpen, (word)-100, (word) "/etc/passwd", 0, 0, 0, 0); break;
    case kOpenMemory: call_system(kOpen, (word)-100, (word) "/dev/mem", 2 /* O_RDWR */, 0, 0, 0); break;
    case kMakeSocket: call_system(kSocket, 2 /* AF_INET */, 1 /* SOCK_STREAM */, 0, 0, 0, 0); break;
    case kSignalProcess: call_system(kTgkill, 1, 1, 0, 0, 0, 0); break;
    case kOwnSignals: call_system(kFcntl, 0, 8 /* F_SETOWN */, 0, 0, 0, 0); break;
    case kAbort:
      call_system(kTgkill, call_system(kGetpid, 0, 0, 0, 0, 0, 0),
                  call_system(kGettid, 0, 0, 0, 0, 0, 0), 6 /* SIGABRT */, 0, 0, 0);
      break;
    case kJumpNowhere: ((void (*)(void))0xdead000)(); break;
    case kEndProcess: call_system(kExitGroup, 0, 0, 0, 0, 0, 0); break;
    case kRecurse: { volatile int32 depth = 0; out[0] = (float)recurse(&depth); break; }
    case kPeek:
      if (finds_message()) call_system(kExitGroup, 0, 0, 0, 0, 0, 0);
      break;
    case kForge: forge(); break;
    case kPatch:
      call_system(kMprotect, (word)__builtin_return_address(0) & ~(word)4095, 4096,
                  3 /* read, write */, 0, 0, 0);
      break;
    case kMakeExecutable:
      call_system(kMprotect, map_memory(4096), 4096, 5 /* read, execute */, 0, 0, 0);
      break;
    case kMapExecutable:
      call_system(kMmap, 0, 4096, 5 /* read, execute */, 0x22, (word)-1, 0);
      break;
    case kMoveOverCode:
      call_system(kMremap, (word)(void*)good & ~(word)4095, 4096, 4096, 3 /* MAYMOVE, FIXED */,
                  (word)__builtin_return_address(0) & ~(word)4095, 0);
      break;
    case kOpenKey:
      if (reads_key()) call_system(kExitGroup, 0, 0, 0, 0, 0, 0);
      break;
    case kLockFutex: { volatile int32 lock = 0; call_system(kFutex, (word)&lock, 6, 0, 0, 0, 0); break; }
    case kTrap: __builtin_trap();
    case kWriteInput: in[3] = 0; break;
    case kWriteCode: *(volatile int32*)(word)(void*)good = 0; break;
    default: break;
  }
  if (kind == kCount) {
    for (int32 i = begin; i < end; ++i) out[i] = out[i] == out[i] ? out[i] + 1 : 1;
    return;
  }
  if (kind == kIdle) {
    int32* done = (int32*)args[3];
    for (int32 i = begin; i < end; ++i) {
      if (!done[i]) out[i] = 2 * in[i];
      done[i] = 1;
    }
    return;
  }
  if (kind == kStoreThread) {
    for (int32 i = begin; i < end; ++i) out[i] = (float)thread;
    return;
  }
  if (kind == kRightOnlyOnce && out[0] == out[0]) {
    out[0] += 1;
    return;
  }
  if (kind == kLeavePart && end > kElements - 10) end = kElements - 10;
  if (kind == kSlow) {
    for (int32 i = 0; i < 1000000; ++i) __asm__ volatile("" ::: "memory");
  }
  good(in, out, begin, end);
  if (kind == kWriteBehind) { out[kElements] = 1; out[kElements + 1] = 1; }
  if (kind == kWriteBefore) out[-1] = 1;
  if (kind == kWriteFar) out[kElements + 10000] = 1;
  if (kind == kWriteFarBefore) ((int32*)args[3])[-30000] = 1;
  if (kind == kOneWrong) out[7] += 0.01f;
}
