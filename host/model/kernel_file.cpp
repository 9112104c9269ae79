// From TOML and sources to a workload (kernel_file.h).
#include "host/model/kernel_file.h"

#include <algorithm>
#include <charconv>
#include <filesystem>
#include <sstream>

// It tells of what its asserts are about as errors, too; a file must not end the program.
#define TOML_ASSERT(expression) static_cast<void>(0)
#include <toml++/toml.h>
#include <nlohmann/json.hpp>

#include "host/model/source_text.h"
#include "host/model/toml_text.h"
#include "schemas/wire/content_hash.h"

namespace fettle::model {
namespace {

namespace fs = std::filesystem;
using nlohmann::json;

struct Mistake {
  const toml::node* at;  // null: of the whole file
  std::string what;
};  // thrown inside this file only

std::string place(const std::string& file, const toml::source_region& at) {
  return file + ":" + std::to_string(at.begin.line) + ": ";
}

json json_of(const toml::node& node) {
  if (const auto* table = node.as_table()) {
    json object = json::object();
    for (const auto& [key, value] : *table) object[std::string(key.str())] = json_of(value);
    return object;
  }
  if (const auto* list = node.as_array()) {
    json array = json::array();
    for (const toml::node& each : *list) array.push_back(json_of(each));
    return array;
  }
  if (const auto* text = node.as_string()) return text->get();
  if (const auto* whole = node.as_integer()) return whole->get();
  if (const auto* real = node.as_floating_point()) return real->get();
  if (const auto* boolean = node.as_boolean()) return boolean->get();
  throw Mistake{&node, "dates and times mean nothing here"};
}

// The last node on the way to "/argument/1/shape" that there is.
const toml::node& node_at(const toml::table& root, const std::string& where) {
  const toml::node* node = &root;
  std::istringstream steps(where.empty() ? "" : where.substr(1));
  for (std::string step; std::getline(steps, step, '/');) {
    const toml::node* next = nullptr;
    std::size_t index = 0;
    if (const auto* table = node->as_table()) {
      next = table->get(step);
    } else if (const auto* list = node->as_array()) {
      const auto read = std::from_chars(step.data(), step.data() + step.size(), index);
      if (read.ec == std::errc()) next = list->get(index);
    }
    if (next == nullptr) break;
    node = next;
  }
  return *node;
}

class KernelReader {
 public:
  explicit KernelReader(const fs::path& path) : given_(path), folder_(path.parent_path()) {}

  Result<TaskList> read() {
    fs::path file = given_;
    file.replace_extension(".toml");
    std::error_code none;
    for (const fs::path& wanted : {given_, file}) {
      if (fs::is_regular_file(wanted, none)) continue;
      return Error{ErrorCode::NotFound,
                   wanted == given_ ? "there is no file " + given_.string()
                                    : given_.string() + " needs " + file.string() +
                                          " beside it, which states its knobs and arguments "
                                          "(examples/ has some)"};
    }
    toml_ = file.string();
    const auto text = contents(toml_);
    if (!text) return text.error();
    if (const auto at = misplaced_character(*text)) {
      const auto line = 1 + std::count(text->begin(), text->begin() + std::ptrdiff_t(*at), '\n');
      return Error{ErrorCode::InvalidArgument,
                   toml_ + ":" + std::to_string(line) +
                       ": a character beyond ASCII, outside of texts and comments"};
    }
    try {
      root_ = toml::parse(*text, toml_);
      return whole();
    } catch (const toml::parse_error& error) {
      return Error{ErrorCode::InvalidArgument,
                   place(toml_, error.source()) + std::string(error.description())};
    } catch (const Mistake& mistake) {
      return Error{ErrorCode::InvalidArgument,
                   place(toml_, (mistake.at ? *mistake.at : root_).source()) + mistake.what};
    }
  }

 private:
  Result<TaskList> whole() {
    json stated = json_of(root_);
    read_source(stated);
    if (stated.contains("reference") && stated["reference"].is_object()) {
      read_reference(stated["reference"]);
    }
    space::KernelMistake mistake;
    auto kernel = space::own_kernel_of(stated, mistake);
    if (!kernel) throw Mistake{&node_at(root_, mistake.where), mistake.what};
    auto workload = space::Workload::of(std::move(*kernel));
    if (!workload) return std::move(workload).error().in("reading " + toml_);
    TaskList list{given_.string(), {}, {}};
    list.tasks.push_back({std::move(*workload), 1});
    list.folder = folder_.empty() ? "." : folder_.string();
    return list;
  }

  // The text that a mistake's node names a file by.
  std::string text_of(const std::string& file, const toml::node* at) const {
    auto text = source_text((folder_ / file).string());
    if (!text) throw Mistake{at, text.error().message};
    return std::move(*text);
  }

  void read_source(json& stated) {
    std::string file;
    if (stated.contains("source")) throw Mistake{root_.get("source"), "unknown key \"source\""};
    if (stated.contains("file")) {
      if (!stated["file"].is_string()) throw Mistake{root_.get("file"), "file must be a string"};
      file = stated["file"];
    } else if (given_.extension() != ".toml") {
      file = given_.filename();
    } else {
      file = beside(given_);
    }
    const bool named = given_.extension() == ".toml";
    if (!named && fs::path(file).filename() != given_.filename()) {
      throw Mistake{root_.get("file"),
                    "file is \"" + file + "\", not " + given_.filename().string()};
    }
    stated["source"] = text_of(file, root_.get("file"));
    stated["file"] = fs::path(file).filename().string();
  }

  static std::string beside(const fs::path& file) {
    for (const char* ending : {".cl", ".cu", ".ptx", ".c"}) {
      fs::path source = file;
      source.replace_extension(ending);
      std::error_code none;
      if (fs::is_regular_file(source, none)) return source.filename();
    }
    throw Mistake{nullptr, "no source is named, and none lies beside it: file = \"my.cl\""};
  }

  // Files become what they hold, or its hash.
  void read_reference(json& reference) const {
    const toml::node* at = &node_at(root_, "/reference/file");
    for (const char* key : {"text", "arrays"}) {
      if (!reference.contains(key)) continue;
      throw Mistake{&node_at(root_, std::string("/reference/") + key),
                    std::string("unknown key \"") + key + "\""};
    }
    json files = json::array();
    if (reference.contains("files")) {
      at = &node_at(root_, "/reference/files");
      files = reference["files"];
      reference.erase("files");
    } else if (reference.contains("file")) {
      files = {reference["file"]};
    }
    if (!files.is_array() || files.empty() || !files[0].is_string()) {
      throw Mistake{at, "a reference names its file: a .c, an .npy or a .json"};
    }
    const std::string first = files[0];
    const std::string ending = fs::path(first).extension();
    if (ending == ".npy") {
      reference.erase("file");
      reference["arrays"] = json::array();
      for (const json& file : files) reference["arrays"].push_back(array_of(file, at));
    } else if ((ending == ".json" || space::kernel_language(first)) && files.size() == 1) {
      reference["file"] = first;
      reference["text"] = text_of(first, at);
    } else {
      throw Mistake{at,
                    "\"" + first + "\" is no reference: it is a .c, an .npy, a .json or a kernel"};
    }
  }

  json array_of(const json& file, const toml::node* at) const {
    if (!file.is_string()) throw Mistake{at, "files must be a list of names"};
    const auto bytes = contents((folder_ / file.get<std::string>()).string());
    if (!bytes) throw Mistake{at, bytes.error().message};
    const auto* data = reinterpret_cast<const std::uint8_t*>(bytes->data());
    return {{"file", file}, {"hash", to_hex(content_hash({data, bytes->size()}))}};
  }

  fs::path given_, folder_;
  std::string toml_;
  toml::table root_;
};

}  // namespace

bool is_kernel_file(const std::string& path) {
  return path.ends_with(".toml") || space::kernel_language(path).has_value();
}

Result<TaskList> load_kernel(const std::string& path) { return KernelReader(path).read(); }

}  // namespace fettle::model
