// fettle export: a network, or one tuned kernel, as files that a product takes: of a CPU a static
// library and a header that a C program links.
#include <filesystem>
#include <iostream>
#include <optional>
#include <set>

#include "host/app/commands.h"
#include "host/app/compile_network.h"
#include "host/app/message.h"
#include "host/app/output_file.h"
#include "host/app/record_database.h"
#include "host/backend/backend.h"
#include "host/model/pieces/onnx_tasks.h"
#include "host/network/c_library.h"
#include "host/network/c_text.h"
#include "host/network/kernel_files.h"
#include "host/records/database.h"
#include "host/records/recorded_workload.h"
#include "runtime/network/mapped_file.h"
#include "schemas/network/network_file.h"

namespace fettle::app {
namespace {

struct ExportCommand {
  CompileOptions compile;
  std::string folder, name;
  std::int64_t record = 0;  // a kernel's; 0: a network
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

// The record's program again, as files.
Result<std::vector<network::KernelFile>> of_record(const ExportCommand& command) {
  const std::string& db = command.compile.target.db;
  auto database = open_to_read(db.empty() ? "fettle.db" : db);
  if (!database) return database.error();
  auto record = database->get(command.record);
  if (!record) return record.error();
  if (!record->measurement()) {
    return Error{ErrorCode::InvalidArgument,
                 fmt::format("record {} failed: it is no kernel to ship", command.record)};
  }
  auto workload = records::recorded_workload(*record);
  if (!workload) return std::move(workload).error();
  auto target = space::Target::parse(record->target);
  if (!target) return std::move(target).error();
  auto task = backend::open_task(*workload, *target);
  if (!task) return std::move(task).error();
  auto configuration = (*task)->space().parse(record->configuration);
  if (!configuration) return std::move(configuration).error();
  auto built = (*task)->build(*configuration);
  if (!built) return std::move(built).error();
  return network::kernel_files(*built->program, *workload, *target, command.name);
}

Result<void> write(const std::string& path, const void* bytes, std::size_t count,
                   const std::string& what) {
  return with_output_file(path, [&](std::ostream& out) -> Result<std::string> {
    out.write(static_cast<const char*>(bytes), static_cast<std::streamsize>(count));
    return what;
  });
}

Result<void> make_folder(const std::string& folder) {
  std::error_code failed;
  std::filesystem::create_directories(folder, failed);
  if (failed) return Error{ErrorCode::Io, folder + ": " + failed.message()};
  return {};
}

Result<void> export_kernel(const ExportCommand& command) {
  const auto files = of_record(command);
  if (!files) return files.error();
  if (auto made = make_folder(command.folder); !made) return made;
  for (const network::KernelFile& file : *files) {
    const auto path = std::filesystem::path(command.folder) / file.name;
    auto written = write(path, file.bytes.data(), file.bytes.size(), file.what);
    if (!written) return written;
  }
  return {};
}

Result<void> export_files(ExportCommand& command) {
  const std::filesystem::path source = command.compile.source.what;
  if (command.name.empty()) {
    command.name = command.record > 0 ? fmt::format("kernel_{}", command.record)
                                      : network::c_name(source.stem().string());
  }
  const std::string& name = command.name;
  if (name != network::c_name(name)) {
    return Error{ErrorCode::InvalidArgument, "--name takes a C identifier, not '" + name + "'"};
  }
  // A header beside others' that says nothing of theirs.
  static const std::set<std::string> kHeaders = {
      "assert", "complex", "ctype",  "errno",    "fenv",       "float",  "inttypes",  "iso646",
      "limits", "locale",  "math",   "setjmp",   "signal",     "stdarg", "stdatomic", "stdbool",
      "stddef", "stdint",  "stdio",  "stdlib",   "string",     "tgmath", "threads",   "time",
      "uchar",  "wchar",   "wctype", "stdalign", "stdnoreturn"};
  if (kHeaders.count(name) > 0) {
    return Error{ErrorCode::InvalidArgument,
                 "the header would be <" + name + ".h> of C: --name gives it another name"};
  }
  if (command.record > 0) return export_kernel(command);
  auto library = model::is_onnx_file(command.compile.source.what) ? of_onnx(command, name)
                                                                  : of_network_file(command, name);
  if (!library) return std::move(library).error();
  if (auto made = make_folder(command.folder); !made) return made;
  const std::filesystem::path folder = command.folder;
  // The larger one first: a full disk leaves no header of a library that is not there.
  auto written = write(folder / ("lib" + name + ".a"), library->archive.data(),
                       library->archive.size(), "the library " + name);
  if (!written) return written;
  written = write(folder / (name + ".h"), library->header.data(), library->header.size(),
                  "the header of " + name);
  if (!written) return written;
  print("{}_init, {}_run: {:.1f} MB of weights, a workspace of {:.1f} MB\n", name, name,
        static_cast<double>(library->constant_bytes) / 1e6,
        static_cast<double>(library->workspace_bytes) / 1e6);
  return {};
}

}  // namespace

void add_export_command(CLI::App& app, int& status) {
  auto* export_command = app.add_subcommand("export",
                                            "Writes a network, or one tuned kernel, as files that "
                                            "need nothing of ours: of a CPU a static "
                                            "library and a C header");
  auto command = std::make_shared<ExportCommand>();
  command->app = export_command;
  auto* what =
      add_model_source(*export_command, command->compile.source,
                       "An ONNX file (.onnx), or a network file that `fettle build` wrote");
  auto* record = export_command
                     ->add_option("--record", command->record,
                                  "Instead of a network: the kernel of that record in --db")
                     ->check(kRecordNumber)
                     ->excludes(what);
  export_command->add_option("-o,--output", command->folder, "The folder: NAME.h, libNAME.a")
      ->required();
  export_command->add_option(
      "--name", command->name,
      "What its functions' names begin with (default: of the file, or kernel_RECORD)");
  add_compile_options(*export_command, command->compile);
  export_command->footer(
      "An ONNX file is compiled first, as `fettle build` does; a file that `fettle build` wrote is "
      "taken as it is. Networks are for CPUs. The functions run on the thread that calls them; the "
      "header states what each takes. A GPU's kernel is NAME.cl, NAME.ptx or NAME.cubin, an "
      "accelerator's NAME.vta; NAME.json says how it is launched.");
  export_command->callback([command, export_command, what, record, &status] {
    if (what->empty() && record->empty()) throw CLI::RequiredError("MODEL, or --record,");
    for (const CLI::Option* option : export_command->get_options()) {
      const std::string name = option->get_name();
      const bool of_records = option == record || name == "--db" || name == "--output" ||
                              name == "--name" || name == "--quiet";
      if (record->count() > 0 && option->count() > 0 && !of_records) {
        throw CLI::ExcludesError("--record", name);
      }
    }
    const auto done = export_files(*command);
    status = done                                       ? kFine
             : done.error().code == ErrorCode::Canceled ? kInterrupted
                                                        : fail(done.error());
  });
}

}  // namespace fettle::app
