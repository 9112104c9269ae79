// The peers of whole networks: a Python that has them, what they make of a model, and the command
// lines of their processes and of ours.
#pragma once

#include <string>
#include <vector>

#include "host/model/zoo/zoo.h"
#include "schemas/wire/result.h"

namespace fettle::bench {

// Their names as network_peer.py knows them.
const std::vector<std::string>& network_peer_names();

// A network of the zoo in files: for the one input, what it holds.
struct ModelFiles {
  std::string onnx;
  std::string input;  // raw float32
  std::vector<std::int64_t> shape;
  std::string folder;  // what peers make of the model
};

// Writes all of them into `folder`, the input by a seed of its own. InvalidArgument: the zoo has no
// such network. Unsupported: it has not one input of float32.
Result<ModelFiles> write_model(const std::string& network, const std::string& folder,
                               model::ZooNumbers numbers);
// Whether the peer computes in int8 what a file's QuantizeLinear and DequantizeLinear say.
bool takes_quantized(const std::string& peer);

// As toolchains/network_peers.sh brings it, which takes it from PyPI on first use.
Result<std::string> python_with_peers();

// Once for a model: pnnx for ncnn, mnnconvert for MNN, nothing for the others. A conversion that is
// there already, of the same bytes, is used.
Result<void> convert_model(const std::string& python, const std::string& peer,
                           const ModelFiles& model);

std::vector<std::string> peer_command(const std::string& python, const std::string& peer,
                                      const ModelFiles& model, unsigned threads);
// What the others' outputs are held to.
std::vector<std::string> yardstick_command(const std::string& python, const ModelFiles& model,
                                           unsigned threads);
// fettle-network-contender, which lies beside this program.
std::vector<std::string> our_command(const std::string& network_file, const ModelFiles& model,
                                     const std::vector<int>& cores);

}  // namespace fettle::bench
