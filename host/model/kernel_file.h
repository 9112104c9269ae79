// A kernel of one's own: a source (.cl, .cu, .ptx or .c) and a TOML beside it, which states
//
//   title       for tables; left out: the file's name
//   file        the source; left out: the file beside it that is named alike
//   options     of the compiler
//   operations  that one run does, for GFLOPS; left out: none are told
//   constraints which values of knobs go together: ["TILE % THREADS == 0", …]
//   [constants] M = 512     known to expressions and, as #defines, to the source
//   [knobs]     TILE = [8, 16, 32]     what is searched: #defines too
//   [[argument]], in the order in which the kernel takes them
//     name, type    int8, uint8, int16, int32, int64, float16, float32 or float64
//     shape         of an array: ["M", "K"]; of scratch also by knobs
//     role          input (left out), output, which is written whole, or scratch
//     fill          of an input: "zero" or { low, high }: integers from low to high, or reals of
//                   such magnitudes and any sign; left out: -8 to 8 (uint8: 0 to 8), 0.25 to 1
//     value         instead of a shape, of a scalar
//   [launch], or several [[launch]], one after the other
//     entry            the kernel's name
//     arguments        names of those that it takes; left out: all
//     blocks, threads  up to three axes each: blocks (work-groups) of the grid, threads
//                      (work-items) of a block
//     shared_bytes     of a block, for a last argument in local memory (CUDA: extern __shared__)
//     parallel         instead of those, of C: iterations that threads share. The function takes
//                      two ints more, begin and end, and does the iterations from begin to end - 1.
//                      Left out: it is called once and takes none
//   [reference]  what the outputs must be
//     file             .c: a C function of all arguments but scratch, in their order, run on the
//                      host; .npy: the output; .json: an operator or a DAG of fettle's, whose
//                      inputs are named as the arguments; a source in the kernel's own language
//                      (the same file too): another kernel, run on the device before the search
//     blocks, threads  of that kernel; it takes all arguments but scratch, and sees knobs at
//                      values that go together
//     files            .npy files of several outputs
//     function         of a .c or a kernel; left out: as the first launch's entry
//     absolute, relative  how far an output may be off: absolute + relative * |expected|
//
// Sizes, values and conditions are numbers or expressions (host/space/own_kernel/kernel_space.h).
// What a source includes by "…" and lies beside it becomes a part of it.
#pragma once

#include <string>

#include "host/model/task_list.h"
#include "schemas/wire/result.h"

namespace fettle::model {

// By its name: a source or a TOML.
bool is_kernel_file(const std::string& path);

// A list of one task. InvalidArgument: "FILE:LINE: what is wrong"; NotFound: a file that is named
// and not there.
Result<TaskList> load_kernel(const std::string& path);

}  // namespace fettle::model
