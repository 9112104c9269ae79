// Convolutions and pooling: their padding as numbers, whichever way the file says it.
#include "host/model/onnx/readers.h"

namespace fettle::model {
namespace {

using List = NodeReader::List;

// strides, dilations and pads of a window of `kernel`.
Result<json> window(const NodeReader& node, const List& kernel) {
  const auto& x = node.shape(0);
  if (x.size() < 3 || kernel.size() != x.size() - 2)
    return node.invalid("its window has another rank");
  const std::size_t rank = kernel.size();
  constexpr std::int64_t kLargest = 1 << 20;
  auto given_strides = node.checked_list("strides", List(rank, 1), 1, kLargest);
  auto given_dilations = node.checked_list("dilations", List(rank, 1), 1, kLargest);
  auto given_pads = node.checked_list("pads", List(2 * rank, 0), 0, kLargest);
  if (!given_strides) return std::move(given_strides).error();
  if (!given_dilations) return std::move(given_dilations).error();
  if (!given_pads) return std::move(given_pads).error();
  const List &strides = *given_strides, &dilations = *given_dilations;
  List& pads = *given_pads;
  if (strides.size() != rank || dilations.size() != rank) {
    return node.invalid("its strides or dilations have another rank");
  }
  const std::string automatic = node.word("auto_pad", "NOTSET");
  if (automatic == "SAME_UPPER" || automatic == "SAME_LOWER") {
    pads.assign(2 * rank, 0);
    for (std::size_t d = 0; d < rank; ++d) {
      const std::int64_t reach = (kernel[d] - 1) * dilations[d] + 1;
      const std::int64_t steps = (x[2 + d] + strides[d] - 1) / strides[d];
      const std::int64_t all =
          std::max<std::int64_t>(0, (steps - 1) * strides[d] + reach - x[2 + d]);
      // The odd one stands behind with SAME_UPPER.
      const std::int64_t less = all / 2;
      pads[d] = automatic == "SAME_UPPER" ? less : all - less;
      pads[rank + d] = all - pads[d];
    }
  } else if (automatic != "NOTSET" && automatic != "VALID") {
    return node.invalid("its auto_pad is '" + automatic + "'");
  } else if (automatic == "VALID") {
    pads.assign(2 * rank, 0);
  }
  return json{{"strides", strides}, {"dilations", dilations}, {"pads", pads}};
}

Outputs conv(const NodeReader& node) {
  auto attributes = convolution_window(node, 1);
  if (!attributes) return std::move(attributes).error();
  return one(node, std::move(*attributes));
}

Outputs pool(const NodeReader& node) {
  auto attributes = pooling_window(node);
  if (!attributes) return std::move(attributes).error();
  if (node.op() == "AveragePool") {
    (*attributes)["count_include_pad"] = node.integer("count_include_pad", 0);
  }
  return one(node, std::move(*attributes));
}

// Padding is given, or follows from the output's shape.
Outputs conv_transpose(const NodeReader& node) {
  const auto &x = node.shape(0), &weight = node.shape(1);
  if (x.size() < 3 || weight.size() != x.size()) return node.invalid("its weight has another rank");
  const std::size_t rank = x.size() - 2;
  constexpr std::int64_t kLargest = 1 << 20;
  auto strides = node.checked_list("strides", List(rank, 1), 1, kLargest);
  auto dilations = node.checked_list("dilations", List(rank, 1), 1, kLargest);
  auto pads = node.checked_list("pads", List(2 * rank, 0), 0, kLargest);
  auto longer = node.checked_list("output_padding", List(rank, 0), 0, kLargest);
  auto to = node.checked_list("output_shape", {}, 1, kLargest);
  for (const auto* list : {&strides, &dilations, &pads, &longer, &to}) {
    if (!*list) return list->error();
  }
  if (strides->size() != rank || dilations->size() != rank || pads->size() != 2 * rank ||
      longer->size() != rank) {
    return node.invalid("its strides, dilations or pads have another rank");
  }
  const std::string automatic = node.word("auto_pad", "NOTSET");
  const bool upper = automatic == "SAME_UPPER", lower = automatic == "SAME_LOWER";
  if (automatic == "VALID") pads->assign(2 * rank, 0);
  if (automatic != "VALID" && automatic != "NOTSET" && !upper && !lower) {
    return node.invalid("its auto_pad is '" + automatic + "'");
  }
  if (to->size() == rank + 2) to->erase(to->begin(), to->begin() + 2);
  if (to->empty() && (upper || lower)) {
    for (std::size_t d = 0; d < rank; ++d) to->push_back(x[2 + d] * (*strides)[d]);
  }
  if (!to->empty() && to->size() != rank) return node.invalid("its output_shape has another rank");
  for (std::size_t d = 0; d < to->size(); ++d) {
    const std::int64_t all = (x[2 + d] - 1) * (*strides)[d] + (*longer)[d] +
                             (weight[2 + d] - 1) * (*dilations)[d] + 1 - (*to)[d];
    // What is missing is put behind, as where there is too little padding.
    if (all < 0) (*longer)[d] -= all;
    const std::int64_t some = std::max<std::int64_t>(all, 0), less = some / 2;
    (*pads)[d] = upper ? less : some - less;
    (*pads)[rank + d] = some - (*pads)[d];
  }
  return one(node, {{"strides", *strides},
                    {"dilations", *dilations},
                    {"pads", *pads},
                    {"output_padding", *longer},
                    {"group", node.integer("group", 1)}});
}

constexpr ReaderRow kWindowReaders[] = {
    {"Conv", conv},
    {"ConvTranspose", conv_transpose},
    {"MaxPool", pool},
    {"AveragePool", pool},
};

}  // namespace

std::span<const ReaderRow> window_readers() { return kWindowReaders; }

Result<json> pooling_window(const NodeReader& node) {
  auto kernel = node.checked_list("kernel_shape", {}, 1, 1 << 20);
  if (!kernel) return std::move(kernel).error();
  auto attributes = window(node, *kernel);
  if (!attributes) return attributes;
  (*attributes)["kernel_shape"] = *kernel;
  (*attributes)["ceil_mode"] = node.integer("ceil_mode", 0);
  return attributes;
}

Result<json> convolution_window(const NodeReader& node, std::size_t weight) {
  const List shape = node.has_input(0) && node.has_input(weight) ? node.shape(weight) : List();
  if (shape.size() < 3) return node.invalid("has no weight");
  auto attributes = window(node, List(shape.begin() + 2, shape.end()));
  if (attributes) (*attributes)["group"] = node.integer("group", 1);
  return attributes;
}

}  // namespace fettle::model
