// A network's inputs out of files or at random, its outputs into files, and its best classes.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "runtime/run/run_options.h"
#include "schemas/wire/codec.h"

namespace fettle::run {

// What that file has for that input. NotFound, Io, and what tensor_of_file() says, with the file's
// name.
Result<Bytes> input_of_file(const wire::NetworkTensorT& tensor, const std::string& file,
                            const ImageRule& rule, LoneArray lone = LoneArray::OfAnyName);

// Fills every input of that network, each where `inputs` has it. NotFound, InvalidArgument and what
// input_of_file() says.
Result<void> fill_inputs(const wire::NetworkT& network, const RunOptions& options,
                         std::span<const std::span<std::uint8_t>> inputs);

struct Class {
  std::size_t row;  // of a batch
  std::size_t index;
  double score;
  std::string label;  // "": there is none
};

// Writes the outputs where the options want them; the classes that they ask for, of each row of the
// first output, the best first and what is no number last.
Result<std::vector<Class>> deliver_outputs(const wire::NetworkT& network,
                                           std::span<const ByteView> outputs,
                                           const RunOptions& options);

}  // namespace fettle::run
