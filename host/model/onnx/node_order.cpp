// The order of nodes (node_order.h).
#include "host/model/onnx/node_order.h"

#include <functional>
#include <set>
#include <string>
#include <unordered_map>
#include <unordered_set>

#include "host/model/onnx/onnx_proto.h"

namespace fettle::model {
namespace {

void for_each_read(const onnx::NodeProto& node,
                   const std::function<void(const std::string&)>& read) {
  for (const std::string& input : node.input()) {
    if (!input.empty()) read(input);
  }
  for (const onnx::AttributeProto& attribute : node.attribute()) {
    if (!attribute.has_g()) continue;
    const onnx::GraphProto& branch = attribute.g();
    std::unordered_set<std::string> own;
    for (const onnx::TensorProto& tensor : branch.initializer()) own.insert(tensor.name());
    for (const onnx::NodeProto& inner : branch.node()) {
      own.insert(inner.output().begin(), inner.output().end());
    }
    const auto read_outside = [&](const std::string& name) {
      if (!own.count(name)) read(name);
    };
    for (const onnx::NodeProto& inner : branch.node()) for_each_read(inner, read_outside);
    for (const onnx::ValueInfoProto& output : branch.output()) read_outside(output.name());
  }
}

}  // namespace

std::vector<int> node_order(const onnx::GraphProto& graph) {
  std::unordered_map<std::string, int> makers;
  for (int i = 0; i < graph.node_size(); ++i) {
    for (const std::string& output : graph.node(i).output()) makers.emplace(output, i);
  }
  std::vector<std::vector<int>> readers(static_cast<std::size_t>(graph.node_size()));
  std::vector<int> waits(readers.size());
  for (int i = 0; i < graph.node_size(); ++i) {
    for_each_read(graph.node(i), [&](const std::string& name) {
      const auto maker = makers.find(name);
      if (maker == makers.end()) return;
      readers[static_cast<std::size_t>(maker->second)].push_back(i);
      ++waits[static_cast<std::size_t>(i)];
    });
  }
  std::set<int> ready;
  for (int i = 0; i < graph.node_size(); ++i) {
    if (waits[static_cast<std::size_t>(i)] == 0) ready.insert(i);
  }
  std::vector<int> order;
  while (!ready.empty()) {
    const int node = *ready.begin();
    ready.erase(ready.begin());
    order.push_back(node);
    for (const int reader : readers[static_cast<std::size_t>(node)]) {
      if (--waits[static_cast<std::size_t>(reader)] == 0) ready.insert(reader);
    }
  }
  for (int i = 0; i < graph.node_size(); ++i) {
    if (waits[static_cast<std::size_t>(i)] > 0) order.push_back(i);
  }
  return order;
}

}  // namespace fettle::model
