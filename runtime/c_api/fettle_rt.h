/* libfettle_rt: runs a network file that `fettle build` wrote. C99.
 *
 *   fettle_network* network;
 *   if (fettle_load("net.fettle", NULL, &network)) { puts(fettle_error()); return 1; }
 *   const void* inputs[] = {image};
 *   void* outputs[] = {scores};
 *   if (fettle_run(network, inputs, outputs, NULL)) …
 *   fettle_free(network);
 *
 * Link with libfettle_rt.a -lstdc++ -lm -lpthread, or with -lfettle_rt.
 *
 * A network file holds machine code: load it only from where you would run a program from.
 *
 * Functions that can fail return 0, or a status; fettle_error() is then the cause in words. A
 * network may be used by several threads: its runs take turns. Threads that a network starts take
 * no signals of the program. Structs begin with their size, which their user sets, so that programs
 * and libraries of different ages fit. */
#ifndef FETTLE_RT_H
#define FETTLE_RT_H

#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

#define FETTLE_API __attribute__((visibility("default")))

typedef enum fettle_status {
  FETTLE_OK = 0,
  FETTLE_INVALID_ARGUMENT = 1, /* the call asks for something that cannot be */
  FETTLE_NOT_FOUND = 2,        /* no such file */
  FETTLE_MALFORMED = 3,        /* no network file, or a damaged one */
  FETTLE_VERSION_MISMATCH = 4, /* a file of another version */
  FETTLE_UNSUPPORTED = 5,      /* for another machine */
  FETTLE_OUT_OF_MEMORY = 6,
  FETTLE_IO = 7,      /* the operating system refused */
  FETTLE_INTERNAL = 8 /* anything else */
} fettle_status;

typedef enum fettle_dtype {
  FETTLE_BOOL,
  FETTLE_INT8,
  FETTLE_UINT8,
  FETTLE_INT16,
  FETTLE_INT32,
  FETTLE_INT64,
  FETTLE_FLOAT16,
  FETTLE_FLOAT32,
  FETTLE_FLOAT64
} fettle_dtype;

typedef struct fettle_network fettle_network;

typedef struct fettle_options {
  size_t size; /* sizeof(fettle_options); the rest 0 for what is usual */
  /* 0: as many as the network was built for, where this process has as many cores. */
  uint32_t threads;
  /* Cores that the threads are pinned to; the thread that loads is pinned to the first, and must be
   * the one that runs. It may run where it could before again once it frees the last network that
   * it has loaded so, or if loading fails; another thread that frees the network leaves it pinned.
   * 0: none is pinned. */
  uint32_t core_count;
  const uint32_t* cores;
  uint64_t memory_limit; /* in bytes, for all that is not in the file; 0: what the machine has */
  /* LLVM's name of the core ("cortex-a53"), where the system does not tell it. May be NULL. */
  const char* cpu;
} fettle_options;

/* Row-major, without gaps. What is pointed at lives as long as the network. */
typedef struct fettle_tensor {
  size_t size;      /* sizeof(fettle_tensor) */
  const char* name; /* as the model names it */
  fettle_dtype dtype;
  uint32_t rank;
  const int64_t* shape;
  uint64_t bytes;
  /* Where it lies within the network: an input may be written there instead of being handed over,
   * an output be read there until the next run. */
  void* data;
} fettle_tensor;

typedef struct fettle_layer {
  size_t size;        /* sizeof(fettle_layer) */
  const char* title;  /* "conv2d 1x64x56x56 …" */
  double operations;  /* nominal, of one run */
  double expected_ns; /* as tuned; 0: not known */
} fettle_layer;

/* In bytes. */
typedef struct fettle_memory {
  size_t size;        /* sizeof(fettle_memory) */
  uint64_t file;      /* the network file, of which the system keeps what is looked at */
  uint64_t constants; /* of it: what runs read there */
  uint64_t own;       /* beside it: packed constants, inputs, outputs, values between layers */
  uint64_t code;
  uint64_t arena; /* of `own`: values between layers, by the plan */
  uint64_t live;  /* the most of those that are needed at once */
} fettle_memory;

/* `options` may be NULL. */
FETTLE_API int fettle_load(const char* path, const fettle_options* options,
                           fettle_network** network);
/* `file` is not copied and must outlive the network; at a multiple of 64, or its constants are. */
FETTLE_API int fettle_load_memory(const void* file, size_t bytes, const fettle_options* options,
                                  fettle_network** network);
/* NULL: nothing. By the thread that loaded it, where that one is pinned (fettle_options.cores). */
FETTLE_API void fettle_free(fettle_network* network);

/* Whether the file is whole: reads all of it. Loading looks at its description and code only. */
FETTLE_API int fettle_check(fettle_network* network);

/* One run. inputs[i] are the bytes of input i, outputs[i] the room for those of output i; NULL, an
 * array or an entry: they stay in the network (fettle_tensor.data). `layer_ns`: NULL, or one number
 * per layer, to which its nanoseconds are added. */
FETTLE_API int fettle_run(fettle_network* network, const void* const* inputs, void* const* outputs,
                          uint64_t* layer_ns);

FETTLE_API size_t fettle_input_count(const fettle_network* network);
FETTLE_API size_t fettle_output_count(const fettle_network* network);
FETTLE_API size_t fettle_layer_count(const fettle_network* network);
/* FETTLE_INVALID_ARGUMENT: there are not so many, or a struct without its size. */
FETTLE_API int fettle_input(const fettle_network* network, size_t index, fettle_tensor* tensor);
FETTLE_API int fettle_output(const fettle_network* network, size_t index, fettle_tensor* tensor);
FETTLE_API int fettle_get_layer(const fettle_network* network, size_t index, fettle_layer* layer);
FETTLE_API int fettle_get_memory(const fettle_network* network, fettle_memory* memory);

FETTLE_API const char* fettle_name(const fettle_network* network); /* of the model */
FETTLE_API const char* fettle_target(
    const fettle_network* network); /* what it was built for: JSON */
FETTLE_API uint32_t fettle_threads(const fettle_network* network);

/* Of the last call of this thread that failed, until its next; never NULL. */
FETTLE_API const char* fettle_error(void);
FETTLE_API const char* fettle_version(void); /* of this library */

#ifdef __cplusplus
}
#endif
#endif
