// All operators of networks.
#include <map>

#include "host/model/operators/operators.h"

namespace fettle::model {

const Operator* find_operator(const std::string& name) {
  static const std::map<std::string, const Operator*> rows = [] {
    std::map<std::string, const Operator*> all;
    for (const auto family :
         {elementwise_operators(), activation_operators(), movement_operators(),
          product_operators(), quantized_operators(), reduction_operators(), view_operators(),
          window_operators(), gather_operators(), scatter_operators(), resample_operators(),
          transposed_convolution_operators(), ranking_operators(), grid_sample_operators()}) {
      for (const Operator& row : family) all[row.name] = &row;
    }
    return all;
  }();
  const auto at = rows.find(name);
  return at == rows.end() ? nullptr : at->second;
}

}  // namespace fettle::model
