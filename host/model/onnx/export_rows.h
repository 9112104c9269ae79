// How operators of a graph are written as ONNX's (export.cpp).
#pragma once

#include <string>
#include <vector>

#include "host/model/graph/graph.h"

namespace fettle::model {

// One whose attributes are ONNX's, but for those that are inputs there.
struct ExportRow {
  const char* op;
  std::vector<const char*> inputs;   // attributes that become inputs, in this order
  std::vector<const char*> dropped;  // attributes that opset 17 lacks
  const char* as = nullptr;          // ONNX's name; null: the same
};
const ExportRow* export_row(const std::string& op);  // null: none

// One that is several of ONNX's: the value "x" is the node's first input, "y" its output, and "one"
// the number 1, "two" 2, "root" the square root of 2 as constants; what stands between has a
// name of its own.
struct ExportStep {
  const char* op;
  std::vector<const char*> inputs;
  const char* output;
};
const std::vector<ExportStep>* export_steps(const std::string& op);  // null: none

}  // namespace fettle::model
