// Workload: from an operator, a stated DAG or a kernel to the key (workload.h).
#include "host/space/workload.h"

#include <nlohmann/json.hpp>

#include "host/space/dag_text/dag_json.h"
#include "host/space/operations.h"
#include "host/space/own_kernel/kernel_space.h"
#include "schemas/wire/content_hash.h"

namespace fettle::space {
namespace {

std::string short_hash(const std::string& text) {
  const auto* bytes = reinterpret_cast<const std::uint8_t*>(text.data());
  return to_hex(content_hash({bytes, text.size()})).substr(0, 16);
}

// "swish 1x28x28x64": the output and its shape.
std::string plain_title(const ComputeDag& dag) {
  const Stage& output = dag.stages.back();
  std::string title = output.name + " ";
  for (std::size_t d = 0; d < output.buffer->shape.size(); ++d) {
    title += (d > 0 ? "x" : "") + std::to_string(output.buffer->shape[d]);
  }
  if (output.buffer->type != ir::kFloat32) title += " " + ir::to_string(output.buffer->type);
  if (dag.allow_tf32) title += " tf32";
  return title;
}

}  // namespace

Workload::Workload() : facts_(std::make_shared<const Facts>()) {}

Result<Workload> Workload::of(Facts facts) {
  auto text = json_of(facts.dag);
  if (!text) return std::move(text).error();
  auto structure = structure_of(facts.dag);
  if (!structure) return std::move(structure).error();
  facts.canonical = text->dump();  // nlohmann's objects are sorted by key
  facts.hash = short_hash(structure->dump());
  return Workload(std::make_shared<const Facts>(std::move(facts)));
}

Result<Workload> Workload::of(OwnKernel kernel) {
  Facts facts;
  nlohmann::json text = json_of(kernel);
  facts.canonical = nlohmann::json{{"kernel", text}}.dump();
  text.erase("title");
  facts.hash = short_hash(text.dump());
  facts.title = kernel.title;
  const auto operations = evaluate_integer(kernel.operations, constants_of(kernel));
  if (!operations) return operations.error();
  facts.operations = double(*operations);
  facts.kernel = std::move(kernel);
  return Workload(std::make_shared<const Facts>(std::move(facts)));
}

Result<Workload> Workload::parse(const nlohmann::json& json) {
  Facts facts;
  if (json.is_object() && json.contains("kernel") && json["kernel"].is_object()) {
    KernelMistake mistake;
    auto kernel = own_kernel_of(json["kernel"], mistake);
    if (!kernel) {
      return Error{
          ErrorCode::InvalidArgument,
          "a kernel's " + (mistake.where.empty() ? "text" : mistake.where) + ": " + mistake.what};
    }
    return of(std::move(*kernel));
  }
  if (!json.is_object() || !json.contains("stages")) {
    auto call = OperatorCall::parse(json);
    if (!call) return std::move(call).error();
    facts.dag = call->dag();
    facts.title = call->title();
    facts.operations = call->operations();
    facts.call = std::move(*call);
    return of(std::move(facts));
  }
  nlohmann::json stated = json;
  std::string title;
  if (const auto field = stated.find("title"); field != stated.end()) {
    if (!field->is_string()) return Error{ErrorCode::InvalidArgument, "a title that is no string"};
    title = *field;
    stated.erase(field);
  }
  auto dag = dag_of(stated);
  if (!dag) return std::move(dag).error();
  facts.dag = std::move(*dag);
  facts.title = title.empty() ? plain_title(facts.dag) : title;
  facts.operations = nominal_operations(facts.dag);
  return of(std::move(facts));
}

Result<Workload> Workload::parse(const std::string& text) {
  const auto json = nlohmann::json::parse(text, nullptr, false);
  if (json.is_discarded()) {
    return Error{ErrorCode::InvalidArgument, "a workload that is not JSON: " + text.substr(0, 80)};
  }
  return parse(json);
}

ir::Scalar Workload::scalar() const {
  if (kernel()) return kernel()->arguments.front().type.scalar;
  for (const Stage& stage : dag().stages) {
    if (stage.placeholder()) return stage.buffer->type.scalar;
  }
  return dag().stages.back().buffer->type.scalar;
}

}  // namespace fettle::space
