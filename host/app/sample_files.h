// Samples of a network's inputs out of files.
#pragma once

#include <string>
#include <vector>

#include "host/model/passes/samples.h"
#include "runtime/tensor_files/tensor_file.h"

namespace fettle::app {

// `files`: FILE, a sample each, or INPUT=FILE, where the first ones of all inputs are the first
// sample and so on. Of a network of several inputs a FILE is an .npz that has them all by name.
// InvalidArgument: another shape, which says both; what no input is named by; inputs with fewer
// files than others; a number that is none, or infinite. NotFound, Io and what
// run::input_of_file() says, with the file's name.
Result<std::vector<model::Sample>> read_samples(const model::Graph& graph,
                                                const std::vector<std::string>& files,
                                                const ImageRule& image);

}  // namespace fettle::app
