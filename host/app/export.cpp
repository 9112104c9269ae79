// fettle export: a network as a static library and a header that a C program links.
#include <filesystem>
#include <iostream>
#include <optional>

#include "host/app/commands.h"
#include "host/app/compile_network.h"
#include "host/app/message.h"
#include "host/app/output_file.h"
#include "host/model/pieces/onnx_tasks.h"
#include "host/network/c_library.h"
#include "runtime/network/mapped_file.h"
#include "schemas/network/network_file.h"

namespace fettle::app {
namespace {

struct ExportCommand {
  CompileOptions compile;
  std::string folder, name;
  const CLI::App* app = nullptr;
};

Result<network::CLibrary> of_onnx(const ExportCommand& command, const std::string& name) {
  auto compiled = compile_network(command.compile, network::check_exportable);
  if (!compiled) return std::move(compiled).error();
  return network::c_library(compiled->linked.network, network::blobs_of(compiled->linked), name);
}

Result<network::CLibrary> of_network_file(const ExportCommand& command, const std::string& name) {
  for (const CLI::Option* option : command.app->get_options()) {
    const std::string what = option->get_name();
    if (option->count() == 0 || !what.starts_with("--")) continue;
    if (what == "--output" || what == "--name" || what == "--quiet") continue;
    return Error{ErrorCode::InvalidArgument,
                 what + " is for ONNX files (.onnx); a network file is compiled already"};
  }
  const std::string& path = command.compile.source.what;
  auto file = runtime::MappedFile::open(path);
  if (!file) return std::move(file).error();
  auto described = read_network_file(file->bytes());
  if (!described) return std::move(described).error().in(path);
  if (auto whole = check_blobs(*described, file->bytes()); !whole) {
    return std::move(whole).error().in(path);
  }
  return network::c_library(*described, blobs_of(*described, file->bytes()), name);
}

Result<void> write(const std::string& path, const void* bytes, std::size_t count,
                   const std::string& what) {
  return with_output_file(path, [&](std::ostream& out) -> Result<std::string> {
    out.write(static_cast<const char*>(bytes), static_cast<std::streamsize>(count));
    return what;
  });
}

Result<void> export_library(const ExportCommand& command) {
  const std::filesystem::path source = command.compile.source.what;
  const std::string name =
      command.name.empty() ? network::c_name(source.stem().string()) : command.name;
  if (name != network::c_name(name)) {
    return Error{ErrorCode::InvalidArgument, "--name takes a C identifier, not '" + name + "'"};
  }
  auto library = model::is_onnx_file(command.compile.source.what) ? of_onnx(command, name)
                                                                  : of_network_file(command, name);
  if (!library) return std::move(library).error();
  std::error_code failed;
  std::filesystem::create_directories(command.folder, failed);
  if (failed) return Error{ErrorCode::Io, command.folder + ": " + failed.message()};
  const std::filesystem::path folder = command.folder;
  auto written = write(folder / (name + ".h"), library->header.data(), library->header.size(),
                       "the header of " + name);
  if (!written) return written;
  written = write(folder / ("lib" + name + ".a"), library->archive.data(), library->archive.size(),
                  "the library " + name);
  if (!written) return written;
  print("{}_init, {}_run: {:.1f} MB of weights, a workspace of {:.1f} MB\n", name, name,
        static_cast<double>(library->constant_bytes) / 1e6,
        static_cast<double>(library->workspace_bytes) / 1e6);
  return {};
}

}  // namespace

void add_export_command(CLI::App& app, int& status) {
  auto* export_command = app.add_subcommand(
      "export", "Writes a network as a static library and a C header, which need nothing of ours");
  auto command = std::make_shared<ExportCommand>();
  command->app = export_command;
  add_task_source(*export_command, command->compile.source)->required();
  export_command->add_option("-o,--output", command->folder, "The folder: NAME.h, libNAME.a")
      ->required();
  export_command->add_option("--name", command->name,
                             "What its functions' names begin with (default: of the file)");
  add_compile_options(*export_command, command->compile);
  export_command->footer(
      "An ONNX file is compiled first, as `fettle build` does; a file that `fettle build` wrote is "
      "taken as it is. For CPUs. The functions run on the thread that calls them; the header "
      "states what each takes.");
  export_command->callback([command, &status] {
    const auto done = export_library(*command);
    status = done                                       ? kFine
             : done.error().code == ErrorCode::Canceled ? kInterrupted
                                                        : fail(done.error());
  });
}

}  // namespace fettle::app
