// Inputs, outputs, classes (tensors.h).
#include "runtime/run/tensors.h"

#include <unistd.h>
#include <algorithm>
#include <cctype>
#include <cerrno>
#include <cstdio>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <numeric>
#include <set>
#include <sstream>

#include "runtime/tensor_files/zip.h"
#include "schemas/fill/fill.h"
#include "schemas/wire/bounded_read.h"

namespace fettle::run {
namespace {

// All of it, or the file stays what it was. What is no file, as a pipe, is written to.
Result<void> write_file(const std::string& path, const std::string& contents) {
  std::error_code error;
  const auto there = std::filesystem::status(path, error);
  const bool plain = !std::filesystem::exists(there) || std::filesystem::is_regular_file(there);
  std::string place = std::filesystem::exists(there) && plain
                          ? std::filesystem::canonical(path, error).string()
                          : path;
  if (place.empty()) place = path;
  const std::string part = plain ? place + "." + std::to_string(::getpid()) + ".part" : place;
  errno = 0;
  std::ofstream file(part, std::ios::binary);
  file.write(contents.data(), static_cast<std::streamsize>(contents.size()));
  file.close();
  if (plain && std::filesystem::exists(there)) {
    std::filesystem::permissions(part, there.permissions(), error);
  }
  if (file && (!plain || std::rename(part.c_str(), place.c_str()) == 0)) return {};
  const int why = errno;
  if (plain) std::filesystem::remove(part, error);
  return Error{why == ENOSPC || why == EFBIG ? ErrorCode::DiskFull : ErrorCode::Io,
               path + ": " + (why == 0 ? "cannot be written" : std::strerror(why))};
}

// Floats of both signs below 1, integers in [0, 100), or as far as the type reaches.
void fill_at_random(wire::ScalarType type, std::uint64_t stream, std::span<std::uint8_t> to) {
  wire::FillT fill;
  fill.dtype = type == wire::ScalarType::Bool ? wire::ScalarType::UInt8 : type;
  fill.stream = stream;
  fill.kind =
      type >= wire::ScalarType::Float16 ? wire::FillKind::UniformReal : wire::FillKind::UniformInt;
  fill.high = type >= wire::ScalarType::Float16 || type == wire::ScalarType::Bool ? 1 : 99;
  (void)fill_bytes(fill, to);  // knows all types but Bool
}

// Without a name: that of the only input, or an archive that holds all of them by theirs.
bool is_of_all(const std::string& file) { return file.ends_with(".npz"); }

const std::string* file_of(const RunOptions& options, const std::string& name, bool only) {
  const std::string* found = nullptr;
  for (const auto& [input, file] : options.inputs) {
    if (input == name) return &file;
    if (input.empty() && (only || is_of_all(file)) && !found) found = &file;
  }
  return found;
}

Result<void> check_names(const wire::NetworkT& network, const RunOptions& options) {
  std::string known;
  for (const auto& tensor : network.inputs) known += " " + tensor->name;
  for (const auto& [name, file] : options.inputs) {
    const bool found = name.empty()
                           ? network.inputs.size() == 1 || is_of_all(file)
                           : std::any_of(network.inputs.begin(), network.inputs.end(),
                                         [&](const auto& tensor) { return tensor->name == name; });
    if (!found) {
      return Error{ErrorCode::InvalidArgument,
                   (name.empty() ? "--input " + file + " names no input" : "no input " + name) +
                       "; the network has" + known};
    }
  }
  return {};
}

// A file name for what a model calls its output, which none of `taken` is.
std::string file_name(std::string name, std::set<std::string>& taken) {
  for (char& c : name) {
    if (!std::isalnum(static_cast<unsigned char>(c)) && !std::strchr("._-", c)) c = '_';
  }
  std::string file = name + ".npy";
  for (int i = 2; !taken.insert(file).second; ++i) file = name + "_" + std::to_string(i) + ".npy";
  return file;
}

float score_at(ByteView data, std::size_t index) {
  float value = 0;
  std::memcpy(&value, &data[index * sizeof value], sizeof value);
  return value;
}

// Into that folder, which is made, as .npy files, or into that .npz.
Result<void> write_outputs(const wire::NetworkT& network, std::span<const ByteView> outputs,
                           const std::string& path) {
  const bool archive = path.ends_with(".npz");
  std::error_code failed;
  if (!archive) std::filesystem::create_directories(path, failed);
  if (failed) return Error{ErrorCode::Io, path + ": " + failed.message()};
  std::vector<ZipEntry> entries;
  std::set<std::string> taken;
  for (std::size_t i = 0; i < outputs.size(); ++i) {
    const wire::NetworkTensorT& tensor = *network.outputs[i];
    std::string file = npy_file(tensor.dtype, tensor.shape, outputs[i]);
    if (archive) {
      entries.push_back({tensor.name + ".npy", std::move(file)});
    } else if (auto written = write_file(path + "/" + file_name(tensor.name, taken), file);
               !written) {
      return written;
    }
  }
  if (!archive) return {};
  const auto made = zip_archive(entries);
  if (!made) return made.error();
  return write_file(path, *made);
}

Result<std::vector<Class>> best_classes(const wire::NetworkT& network,
                                        std::span<const ByteView> outputs, std::uint32_t count,
                                        const std::string& labels_file) {
  if (outputs.empty() || network.outputs[0]->dtype != wire::ScalarType::Float32) {
    return Error{ErrorCode::Unsupported, "--top takes scores of float32"};
  }
  std::vector<std::string> labels;
  if (!labels_file.empty()) {
    auto contents = read_whole(labels_file, kMostTextBytes);
    if (!contents) return std::move(contents).error();
    std::istringstream lines(*contents);
    for (std::string line; std::getline(lines, line);) labels.push_back(line);
    while (!labels.empty() && labels.back().empty()) labels.pop_back();
  }
  const ByteView data = outputs[0];
  if (const std::size_t classes = data.size() / sizeof(float);
      !labels_file.empty() && labels.size() != classes) {
    return Error{ErrorCode::InvalidArgument,
                 "--labels: " + labels_file + " names " + std::to_string(labels.size()) +
                     " classes, the network has " + std::to_string(classes)};
  }
  std::vector<std::size_t> order(data.size() / sizeof(float));
  std::iota(order.begin(), order.end(), std::size_t{0});
  const auto kept = static_cast<std::ptrdiff_t>(std::min<std::size_t>(count, order.size()));
  std::partial_sort(order.begin(), order.begin() + kept, order.end(),
                    [&](std::size_t a, std::size_t b) {
                      const float x = score_at(data, a), y = score_at(data, b);
                      return x > y || (x == y && a < b);
                    });
  order.resize(static_cast<std::size_t>(kept));
  std::vector<Class> best;
  for (const std::size_t index : order) {
    best.push_back({index, score_at(data, index), index < labels.size() ? labels[index] : ""});
  }
  return best;
}

}  // namespace

Result<Bytes> input_of_file(const wire::NetworkTensorT& tensor, const std::string& file,
                            const ImageRule& rule) {
  auto contents = read_whole(file, kMostTensorBytes);
  if (!contents) return std::move(contents).error();
  auto bytes = tensor_of_file(tensor, file, *contents, rule);
  if (!bytes) {
    Error error = std::move(bytes).error();
    error.message = file + ": " + error.message;
    return error;
  }
  return bytes;
}

Result<void> fill_inputs(const wire::NetworkT& network, const RunOptions& options,
                         std::span<const std::span<std::uint8_t>> inputs) {
  if (auto known = check_names(network, options); !known) return known;
  for (std::size_t i = 0; i < network.inputs.size(); ++i) {
    const wire::NetworkTensorT& tensor = *network.inputs[i];
    const auto to = inputs[i];
    const std::string* file = file_of(options, tensor.name, network.inputs.size() == 1);
    if (!file) {
      fill_at_random(tensor.dtype, options.seed + i, to);
      continue;
    }
    auto bytes = input_of_file(tensor, *file, options.image);
    if (!bytes) return std::move(bytes).error();
    std::memcpy(to.data(), bytes->data(), to.size());
  }
  return {};
}

Result<std::vector<Class>> deliver_outputs(const wire::NetworkT& network,
                                           std::span<const ByteView> outputs,
                                           const RunOptions& options) {
  if (!options.output.empty()) {
    auto written = write_outputs(network, outputs, options.output);
    if (!written) return std::move(written).error();
  }
  const std::uint32_t top = options.top == 0 && !options.labels.empty() ? 5 : options.top;
  if (top == 0) return std::vector<Class>();
  return best_classes(network, outputs, top, options.labels);
}

}  // namespace fettle::run
