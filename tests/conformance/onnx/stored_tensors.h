// ONNX's stored tensors (.pb), and values beside them.
#pragma once

#include <filesystem>
#include <fstream>
#include <optional>
#include <string>
#include <vector>

#include "host/model/onnx/node_reader.h"

namespace fettle::model {

template <typename Message>
bool parse_file(const std::filesystem::path& path, Message& message) {
  std::ifstream file(path, std::ios::binary);
  return file && message.ParseFromIstream(&file);
}

// An empty one where the file is wrong or of a kind that is not known; none: there is no file.
std::optional<OnnxTensor> stored_tensor(const std::filesystem::path& path);

// "" when they agree as ONNX wants it: 1e-3 relative, 1e-7 absolute; else what differs.
std::string compared(const TensorType& type, const std::vector<std::uint8_t>& bytes,
                     const OnnxTensor& expected);

}  // namespace fettle::model
