/* Hand-made candidates, good and evil: one image whose third argument, a scalar,
   says what it does. Read by C (freestanding) and C++. */
#pragma once

enum CandidateKind {
  kGood,              /* out[i] = 2 * in[i] for its part of the elements */
  kCrash,             /* reads address 16 */
  kLoop,              /* never returns */
  kAllocate,          /* maps memory until it is refused, then uses what it got */
  kAllocateAndReturn, /* maps 64 MiB, is good otherwise */
  kWriteBehind,       /* good, and 8 bytes right behind its output */
  kWriteBefore,       /* good, and 4 bytes right before its output */
  kWriteFar,          /* good, and 40,000 bytes behind its output */
  kLeavePart,         /* good but for the last 10 elements, which it leaves alone */
  kOneWrong,          /* good but for element 7, off by 0.01 */
  kForbiddenCall,     /* asks for its user id */
  kOpenFile,          /* opens /etc/passwd */
  kOpenMemory,        /* opens /dev/mem */
  kMakeSocket,        /* makes a TCP socket */
  kJumpNowhere,       /* calls address 0xdead000 */
  kWriteInput,        /* good, and changes its input */
  kEndProcess,        /* ends the process */
  kRecurse,           /* overflows its stack */
  kTrap,              /* an illegal instruction */
  kRightOnlyOnce,     /* right over untouched output, wrong over its own result */
  kWriteCode,         /* writes to its own image */
  kCount,             /* out[i] += 1 for begin <= i < end: each iteration once */
  kSlow,              /* good, and about a million steps */
  kStoreThread,       /* out[i] = index of the calling thread */
  kSignalProcess,     /* good, and sends signal 0 to process 1 */
  kOwnSignals,        /* good, and says who gets the signals of descriptor 0: nobody */
  kAbort,             /* signals itself SIGABRT, as abort() does */
  kPeek,              /* good, and ends the process if any of its sockets holds something */
  kForge,             /* good, and writes outcomes of other trials into all sockets */
  kPatch,             /* good, and asks for the worker's own code to be writable */
  kMakeExecutable,    /* good, and asks for memory of its own to be executable */
  kMapExecutable,     /* good, and asks for new memory that is executable */
  kMoveOverCode,      /* good, and moves its own image over the worker's code */
  kOpenKey,   /* reads secret.key where the worker was started; ends the process if it can */
  kLockFutex, /* good, and locks a futex with priority inheritance */
  kIdle,      /* good once for each element; a fourth argument, kElements zeros, says for which */
  kWriteFarBefore /* good, and 120,000 bytes before its fourth argument, a large buffer */
};

/* Elements of input and output: 4,004 bytes, so that there is room for sentinels. */
enum { kElements = 1001 };
