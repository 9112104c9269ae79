// Inputs, outputs, classes (tensors.h).
#include "runtime/run/tensors.h"

#include <fcntl.h>
#include <unistd.h>
#include <algorithm>
#include <cctype>
#include <cerrno>
#include <cmath>
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

// On the disk: a board may lose its power at any time. False with errno; a file system that cannot
// do it does not fail by it.
bool reach_disk(const std::string& path) {
  int fd = ::open(path.c_str(), O_RDONLY | O_CLOEXEC);
  if (fd < 0) fd = ::open(path.c_str(), O_WRONLY | O_CLOEXEC);  // a file that may not be read
  if (fd < 0) return false;
  const int error = ::fsync(fd) == 0 || errno == EINVAL || errno == ENOTSUP ? 0 : errno;
  ::close(fd);
  errno = error;
  return error == 0;
}

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
  if (file && !plain) return {};
  const bool reached = file && reach_disk(part);
  const int reach_error = errno;
  if (plain && std::filesystem::exists(there)) {
    std::filesystem::permissions(part, there.permissions(), error);
  }
  errno = reach_error;
  if (reached && std::rename(part.c_str(), place.c_str()) == 0) {
    const std::string folder = std::filesystem::path(place).parent_path().string();
    reach_disk(folder.empty() ? "." : folder);  // its name; best effort
    return {};
  }
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

struct InputFile {
  const std::string* name = nullptr;  // null: there is none
  LoneArray lone = LoneArray::OfAnyName;
};

InputFile file_of(const RunOptions& options, const std::string& name, bool only) {
  InputFile found;
  for (const auto& [input, file] : options.inputs) {
    if (input == name) return {&file, LoneArray::OfAnyName};
    if (input.empty()) found = {&file, only ? LoneArray::OfAnyName : LoneArray::OfItsName};
  }
  return found;
}

bool is_usual(const ImageRule& rule) {
  const ImageRule usual;
  return std::equal(rule.mean, rule.mean + 3, usual.mean) &&
         std::equal(rule.std, rule.std + 3, usual.std) && rule.height == 0;
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
    const auto same = [&](const auto& other) { return other.first == name; };
    if (std::count_if(options.inputs.begin(), options.inputs.end(), same) > 1) {
      return Error{ErrorCode::InvalidArgument, name.empty()
                                                   ? "two --input without a name: give NAME=FILE"
                                                   : "--input " + name + " is given twice"};
    }
  }
  const auto image = [](const auto& input) { return is_image(input.second); };
  if (!is_usual(options.image) &&
      std::none_of(options.inputs.begin(), options.inputs.end(), image)) {
    return Error{ErrorCode::InvalidArgument,
                 "--mean, --std and --size are of images, and no --input is one"};
  }
  return {};
}

// A file name for what a model calls its output, which none of `taken` is. Not hidden, and no
// longer than file systems bear.
std::string file_name(std::string name, std::set<std::string>& taken) {
  constexpr std::size_t kLongest = 200;
  if (name.size() > kLongest) name.resize(kLongest);
  if (name.starts_with('.')) name[0] = '_';
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

struct Scores {
  std::size_t rows, classes;
};

// One score for each class, or a row of them for each of a batch. Axes of 1 behind it are those of
// a pooled image.
Result<Scores> scores_of(const wire::NetworkTensorT& tensor) {
  if (tensor.dtype != wire::ScalarType::Float32) {
    return Error{ErrorCode::Unsupported, "--top takes scores of float32"};
  }
  std::vector<std::size_t> shape;
  for (const std::int64_t extent : tensor.shape) {
    if (extent != 1) shape.push_back(static_cast<std::size_t>(extent));
  }
  // A batch of several whose class is the only one.
  const bool only = tensor.shape.size() > 1 && shape.size() == 1 && tensor.shape[0] != 1;
  if (only) shape.push_back(1);
  if (shape.size() > 2) {
    return Error{ErrorCode::Unsupported, "--top takes a row of scores, the first output is " +
                                             fettle::text_of(tensor.dtype, tensor.shape)};
  }
  return Scores{shape.size() == 2 ? shape[0] : 1, shape.empty() ? 1 : shape.back()};
}

Result<std::vector<Class>> best_classes(const wire::NetworkT& network,
                                        std::span<const ByteView> outputs, std::uint32_t count,
                                        const std::string& labels_file) {
  if (outputs.empty()) return Error{ErrorCode::Unsupported, "--top takes scores of float32"};
  const auto scores = scores_of(*network.outputs[0]);
  if (!scores) return scores.error();
  std::vector<std::string> labels;
  if (!labels_file.empty()) {
    auto contents = read_whole(labels_file, kMostTextBytes);
    if (!contents) return std::move(contents).error();
    std::istringstream lines(*contents);
    for (std::string line; std::getline(lines, line);) labels.push_back(line);
    while (!labels.empty() && labels.back().empty()) labels.pop_back();
    if (labels.size() != scores->classes) {
      return Error{ErrorCode::InvalidArgument,
                   "--labels: " + labels_file + " names " + std::to_string(labels.size()) +
                       " classes, the network has " + std::to_string(scores->classes)};
    }
  }
  std::vector<Class> best;
  for (std::size_t row = 0; row < scores->rows; ++row) {
    const auto score = [&](std::size_t index) {
      return score_at(outputs[0], row * scores->classes + index);
    };
    std::vector<std::size_t> order(scores->classes);
    std::iota(order.begin(), order.end(), std::size_t{0});
    const auto kept = static_cast<std::ptrdiff_t>(std::min<std::size_t>(count, order.size()));
    std::partial_sort(order.begin(), order.begin() + kept, order.end(),
                      [&](std::size_t a, std::size_t b) {
                        const float x = score(a), y = score(b);
                        if (std::isnan(x) != std::isnan(y)) return std::isnan(y);
                        return x > y || (!(x < y) && a < b);
                      });
    order.resize(static_cast<std::size_t>(kept));
    for (const std::size_t index : order) {
      best.push_back({row, index, score(index), index < labels.size() ? labels[index] : ""});
    }
  }
  return best;
}

}  // namespace

Result<Bytes> input_of_file(const wire::NetworkTensorT& tensor, const std::string& file,
                            const ImageRule& rule, LoneArray lone) {
  auto contents = read_whole(file, kMostTensorBytes);
  if (!contents) return std::move(contents).error();
  auto bytes = tensor_of_file(tensor, file, *contents, rule, lone);
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
    const InputFile file = file_of(options, tensor.name, network.inputs.size() == 1);
    if (!file.name) {
      fill_at_random(tensor.dtype, options.seed + i, to);
      continue;
    }
    auto bytes = input_of_file(tensor, *file.name, options.image, file.lone);
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
