// A network file of two dense layers, as a build would write it: packed by Prepare launches, values
// between the layers in an arena, its code compiled by hand (candidates/dense.c).
#pragma once

#include <string>
#include <vector>

#include "schemas/network/network_file.h"
#include "schemas/wire/native_arch.h"

namespace fettle::test {

// Floats: "image" [1, inputs] to "scores" [1, outputs].
struct TinyNetwork {
  int inputs = 48, hidden = 32, outputs = 10;
  std::string arch = native_arch();

  wire::NetworkT network;
  std::vector<Bytes> contents;  // weights, biases, code

  // Of those sizes and that architecture.
  void make();
  Bytes file() const;  // after make(), with what was changed since
  void write(const std::string& path) const;
  // What it computes, by plain loops.
  std::vector<float> answer(const std::vector<float>& input) const;
};

// False where the build made no code for that architecture: tests skip.
bool have_tiny_network(const std::string& arch = native_arch());

}  // namespace fettle::test
