// A kernel from its JSON (own_kernel.h): one reader, whose mistakes name the place.
#include <algorithm>
#include <map>
#include <set>

#include <nlohmann/json.hpp>

#include "host/space/own_kernel/kernel_fields.h"
#include "host/space/own_kernel/own_kernel.h"

namespace fettle::space {
namespace {

using Json = nlohmann::json;
using namespace kernel_fields;

constexpr std::size_t kMostAxes = 3;
constexpr double kLowMagnitude = 0.25;  // of a real fill that is not stated: in [low, 1)
constexpr int kIntegerBound = 8;        // of an integer one: from -8, or 0, to 8

class Reader {
 public:
  OwnKernel read(const Json& json) {
    known(json, "",
          {"title", "file", "source", "options", "operations", "constants", "knobs", "constraints",
           "argument", "launch", "reference"});
    kernel_.source = {string(json, "", "file"), string(json, "", "source")};
    const auto language = kernel_language(kernel_.source.file);
    if (!language) stop("/file", "\"" + kernel_.source.file + "\" is no .cl, .cu, .ptx or .c");
    kernel_.language = *language;
    kernel_.options = string(json, "", "options", "");
    read_numbers(json);
    kernel_.constraints = strings(json, "", "constraints", false);
    read_arguments(json);
    read_launches(json);
    read_reference(json);
    kernel_.operations = expression(json, "", "operations", "0");
    check_integer("/operations", kernel_.operations, constants_of(kernel_));
    check_expressions(json);
    kernel_.title = string(json, "", "title", kernel_.source.file);
    return std::move(kernel_);
  }

 private:
  // What depends on knobs and device, with the knobs' first values and any device's figures.
  void check_expressions(const Json& json) const {
    const auto values_for = [&](const std::string& text) {
      KernelValues values = constants_of(kernel_);
      for (const OwnKernel::Knob& knob : kernel_.knobs) values[knob.name] = knob.values.front();
      for (const std::string& name : names_in(text)) {
        if (name.starts_with(kDevicePrefix)) values[name] = 1;
      }
      return values;
    };
    const auto check = [&](const std::string& where, const std::string& text) {
      check_integer(where, text, values_for(text));
    };
    for (std::size_t i = 0; i < kernel_.constraints.size(); ++i) {
      const std::string& text = kernel_.constraints[i];
      if (const auto holds = evaluate_condition(text, values_for(text)); !holds) {
        stop("/constraints/" + std::to_string(i), holds.error().message);
      }
    }
    for (std::size_t i = 0; i < kernel_.arguments.size(); ++i) {
      const std::string where = "/argument/" + std::to_string(i);
      for (const std::string& axis : kernel_.arguments[i].shape) check(where + "/shape", axis);
      const auto& value = kernel_.arguments[i].value;
      if (value && !kernel_.arguments[i].type.is_float()) check(where + "/value", *value);
    }
    for (std::size_t i = 0; i < kernel_.launches.size(); ++i) {
      const KernelLaunch& launch = kernel_.launches[i];
      const bool several = json["launch"].is_array();
      const std::string where = "/launch" + (several ? "/" + std::to_string(i) : "");
      for (const std::string& axis : launch.blocks) check(where + "/blocks", axis);
      for (const std::string& axis : launch.threads) check(where + "/threads", axis);
      check(where + "/shared_bytes", launch.shared_bytes);
      if (!launch.parallel.empty()) check(where + "/parallel", launch.parallel);
    }
  }

  void new_name(const std::string& where, const std::string& name) {
    if (!is_name(name)) stop(where, "\"" + name + "\" is no name for a #define");
    if (!names_.insert(name).second) stop(where, "\"" + name + "\" is there twice");
  }

  void read_numbers(const Json& json) {
    if (const auto constants = json.find("constants"); constants != json.end()) {
      if (!constants->is_object()) stop("/constants", "must be a table");
      for (const auto& [name, value] : constants->items()) {
        const std::string where = "/constants/" + name;
        new_name(where, name);
        if (!value.is_number_integer()) stop(where, name + " must be a whole number");
        kernel_.constants.push_back({name, value});
      }
    }
    const auto knobs = json.find("knobs");
    if (knobs == json.end() || !knobs->is_object() || knobs->empty()) {
      stop(knobs == json.end() ? "" : "/knobs",
           "there must be a table [knobs] with a list of values for each knob");
    }
    for (const auto& [name, values] : knobs->items()) {
      const std::string where = "/knobs/" + name;
      new_name(where, name);
      if (!values.is_array() || values.empty()) {
        stop(where, "knob " + name + " has no values: it must be a list, as in [1, 2, 4]");
      }
      OwnKernel::Knob knob{name, {}};
      for (const Json& value : values) {
        if (!value.is_number_integer() && !value.is_boolean()) {
          stop(where, "knob " + name + ": " + value.dump() + " is no whole number, true or false");
        }
        knob.values.push_back(value.is_boolean() ? std::int64_t{value.get<bool>()}
                                                 : value.get<std::int64_t>());
      }
      std::set<std::int64_t> once(knob.values.begin(), knob.values.end());
      if (once.size() != knob.values.size()) stop(where, "knob " + name + " has a value twice");
      kernel_.knobs.push_back(std::move(knob));
    }
  }

  ir::Fill fill_of(const Json& json, const std::string& where, ir::DataType type,
                   std::uint64_t stream) {
    ir::Fill fill{ir::Fill::Kind::UniformReal, kLowMagnitude, 1, stream};
    if (!type.is_float()) {
      fill.kind = ir::Fill::Kind::UniformInt;
      fill.low = type.scalar == ir::Scalar::UInt8 ? 0 : -kIntegerBound;
      fill.high = kIntegerBound;
    }
    const auto found = json.find("fill");
    if (found == json.end()) return fill;
    const std::string place = where + "/fill";
    if (*found == "zero") return {ir::Fill::Kind::Zero};
    if (!found->is_object()) stop(place, "fill must be \"zero\" or { low = …, high = … }");
    known(*found, place, {"low", "high", "stream"});
    for (const char* key : {"low", "high"}) {
      if (!found->contains(key) || !(*found)[key].is_number()) {
        stop(place, std::string("fill needs a number \"") + key + "\"");
      }
    }
    fill.low = (*found)["low"], fill.high = (*found)["high"];
    if (fill.low > fill.high) stop(place, "fill's low is above its high");
    if (const auto own = found->find("stream"); own != found->end()) {
      if (!own->is_number_integer() || *own < 0) stop(place, "stream must be a whole number");
      fill.stream = *own;
    }
    return fill;
  }

  void read_arguments(const Json& json) {
    const auto list = json.find("argument");
    if (list == json.end() || !list->is_array() || list->empty()) {
      stop(list == json.end() ? "" : "/argument", "there must be an [[argument]] for each one");
    }
    std::set<std::string> names;
    bool output = false;
    for (std::size_t i = 0; i < list->size(); ++i) {
      const std::string where = "/argument/" + std::to_string(i);
      const Json& each = (*list)[i];
      known(each, where, {"name", "type", "shape", "value", "role", "fill"});
      KernelArgument argument;
      argument.name = string(each, where, "name");
      if (!names.insert(argument.name).second) {
        stop(where + "/name", "two arguments are named " + argument.name);
      }
      const std::string type = string(each, where, "type");
      if (!ir::parse_scalar(type, argument.type.scalar) || argument.type.is_bool()) {
        stop(where + "/type", "\"" + type +
                                  "\" is no type; there are: int8, uint8, int16, int32, "
                                  "int64, float16, float32, float64");
      }
      if (each.contains("value")) {
        read_scalar(argument, each, where);
      } else {
        read_array(argument, each, where);
        argument.fill = fill_of(each, where, argument.type, i + 1);
      }
      output |= argument.role == ir::Role::Output;
      kernel_.arguments.push_back(std::move(argument));
    }
    if (!output) stop("/argument", "no argument has role = \"output\"");
  }

  void read_scalar(KernelArgument& argument, const Json& json, const std::string& where) {
    for (const char* key : {"shape", "role", "fill"}) {
      if (json.contains(key)) {
        stop(where + "/" + key, std::string("an argument with a value has no ") + key);
      }
    }
    using ir::Scalar;
    const Scalar scalar = argument.type.scalar;
    if (scalar != Scalar::Int32 && scalar != Scalar::Int64 && scalar != Scalar::Float32 &&
        scalar != Scalar::Float64) {
      stop(where + "/type", "a value is an int32, int64, float32 or float64");
    }
    const Json& value = json["value"];
    const bool real = argument.type.is_float() && value.is_number_float();
    argument.value = real ? value.dump() : expression(value, where + "/value");
  }

  void read_array(KernelArgument& argument, const Json& json, const std::string& where) {
    static const std::map<std::string, ir::Role> roles = {
        {"input", ir::Role::Input}, {"output", ir::Role::Output}, {"scratch", ir::Role::Scratch}};
    const std::string role = string(json, where, "role", "input");
    const auto found = roles.find(role);
    if (found == roles.end()) {
      stop(where + "/role", "\"" + role + "\" is no role; there are: input, output, scratch");
    }
    argument.role = found->second;
    if (!json.contains("shape")) stop(where, argument.name + " has neither a shape nor a value");
    argument.shape = strings(json, where, "shape", true);
    if (argument.shape.empty()) stop(where + "/shape", "a shape without axes");
    if (json.contains("fill") && argument.role != ir::Role::Input) {
      stop(where + "/fill", "only inputs are filled");
    }
    if (argument.role == ir::Role::Scratch) return;  // its size may follow from knobs
    const auto elements = elements_of(argument, constants_of(kernel_));
    if (!elements) stop(where + "/shape", elements.error().message);
  }

  void read_launches(const Json& json) {
    const auto found = json.find("launch");
    if (found == json.end()) stop("", "there must be a table [launch]");
    const bool several = found->is_array();
    if (several && found->empty()) stop("/launch", "there must be a launch");
    for (std::size_t i = 0; i < (several ? found->size() : 1); ++i) {
      const std::string where = several ? "/launch/" + std::to_string(i) : "/launch";
      kernel_.launches.push_back(launch_of(several ? (*found)[i] : *found, where));
    }
  }

  KernelLaunch launch_of(const Json& json, const std::string& where) {
    KernelLaunch launch;
    if (kernel_.language == KernelLanguage::C) {
      known(json, where, {"entry", "arguments", "parallel"});
      launch.parallel = expression(json, where, "parallel", "");
    } else {
      known(json, where, {"entry", "arguments", "blocks", "threads", "shared_bytes"});
      for (auto [key, axes] : {std::pair{"blocks", &launch.blocks}, {"threads", &launch.threads}}) {
        *axes = strings(json, where, key, true);
        if (axes->empty() || axes->size() > kMostAxes) {
          stop(json.contains(key) ? where + "/" + key : where,
               std::string(key) + " must be a list of one to three expressions");
        }
      }
      launch.shared_bytes = expression(json, where, "shared_bytes", "0");
    }
    launch.entry = string(json, where, "entry");
    // Of CUDA's templates it names an instance.
    const std::string name = launch.entry.substr(0, launch.entry.find('<'));
    if (kernel_.source.text.find(name) == std::string::npos) {
      stop(where + "/entry", "no \"" + launch.entry + "\" in " + kernel_.source.file);
    }
    if (!json.contains("arguments")) {
      for (std::size_t i = 0; i < kernel_.arguments.size(); ++i) launch.arguments.push_back(i);
      return launch;
    }
    for (const std::string& name : strings(json, where, "arguments", false)) {
      const auto argument =
          std::find_if(kernel_.arguments.begin(), kernel_.arguments.end(),
                       [&](const KernelArgument& each) { return each.name == name; });
      if (argument == kernel_.arguments.end()) {
        stop(where + "/arguments", "there is no argument \"" + name + "\"");
      }
      launch.arguments.push_back(std::size_t(argument - kernel_.arguments.begin()));
    }
    return launch;
  }

  void read_reference(const Json& json) {
    const std::string where = "/reference";
    const auto found = json.find("reference");
    if (found == json.end()) stop("", "there must be a table [reference]");
    known(*found, where,
          {"file", "text", "function", "blocks", "threads", "arrays", "absolute", "relative"});
    KernelReference& reference = kernel_.reference;
    if (found->contains("arrays")) {
      reference.kind = KernelReference::Kind::Arrays;
      const Json& arrays = (*found)["arrays"];
      if (!arrays.is_array()) stop(where + "/arrays", "must be a list");
      for (const Json& each : arrays) {
        known(each, where + "/arrays", {"file", "hash"});
        reference.arrays.push_back(
            {string(each, where + "/arrays", "file"), string(each, where + "/arrays", "hash")});
      }
      const auto outputs =
          std::count_if(kernel_.arguments.begin(), kernel_.arguments.end(),
                        [](const KernelArgument& each) { return each.role == ir::Role::Output; });
      if (std::ssize(reference.arrays) != outputs) {
        stop(where, "there must be an .npy for each of the " + std::to_string(outputs) +
                        " output(s), in their order");
      }
    } else {
      reference.source = {string(*found, where, "file"), string(*found, where, "text")};
      const bool workload = reference.source.file.ends_with(".json");
      reference.kind = workload ? KernelReference::Kind::Workload : KernelReference::Kind::Function;
      const auto language = kernel_language(reference.source.file);
      if (language && *language != KernelLanguage::C) {
        read_reference_kernel(*found, *language);
      } else {
        for (const char* key : {"blocks", "threads"}) {
          if (found->contains(key)) {
            stop(where + "/" + key, std::string(key) + " are of a kernel as the reference");
          }
        }
      }
      if (!workload) {
        reference.entry = string(*found, where, "function", kernel_.launches.front().entry);
        if (reference.source.text.find(reference.entry) == std::string::npos) {
          stop(where + "/function", "no \"" + reference.entry + "\" in " + reference.source.file);
        }
      }
    }
    read_tolerance(*found, where);
  }

  void read_reference_kernel(const Json& json, KernelLanguage language) {
    if (language != kernel_.language) {
      stop("/reference/file", kernel_.reference.source.file + " is " + name_of(language) +
                                  ", the kernel is " + name_of(kernel_.language));
    }
    kernel_.reference.kind = KernelReference::Kind::Kernel;
    for (auto [key, axes] : {std::pair{"blocks", &kernel_.reference.blocks},
                             {"threads", &kernel_.reference.threads}}) {
      *axes = strings(json, "/reference", key, true);
      if (axes->empty() || axes->size() > kMostAxes) {
        stop("/reference", std::string("a kernel as the reference has ") + key +
                               ", a list of one to three expressions");
      }
      for (const std::string& axis : *axes) {
        check_integer(std::string("/reference/") + key, axis, constants_of(kernel_));
      }
    }
  }

  void read_tolerance(const Json& json, const std::string& where) {
    Tolerance tolerance;
    for (auto [key, value] :
         {std::pair{"absolute", &tolerance.absolute}, {"relative", &tolerance.relative}}) {
      const auto found = json.find(key);
      if (found == json.end()) continue;
      if (!found->is_number() || !(*found >= 0.0)) {
        stop(where + "/" + key, std::string(key) + " must be a number from 0");
      }
      *value = *found;
      kernel_.reference.tolerance = tolerance;
    }
  }

  OwnKernel kernel_;
  std::set<std::string> names_;
};

}  // namespace

std::optional<OwnKernel> own_kernel_of(const Json& json, KernelMistake& mistake) try {
  return Reader().read(json);
} catch (const KernelMistake& found) {
  mistake = found;
  return std::nullopt;
}

}  // namespace fettle::space
