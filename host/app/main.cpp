// fettle: the command line.
#include <csignal>

#include "host/app/commands.h"
#include "host/app/message.h"
#include "host/app/version.h"

int main(int argc, char** argv) {
  using namespace fettle::app;
  std::signal(SIGPIPE, SIG_IGN);  // a closed pipe is an error of that write, not our end
  CLI::App app{"fettle makes neural-network kernels fast on small boards.", "fettle"};
  app.set_version_flag("--version", std::string("fettle ") + kVersion);
  app.require_subcommand(1);
  app.get_formatter()->column_width(30);
  int status = kFine;
  add_tune_command(app, status);
  add_devices_command(app, status);
  add_broker_command(app, status);
  add_build_worker_command(app, status);
  add_records_command(app, status);
  add_flash_command(app, status);
  add_keys_command(app, status);
  add_explain_command(app, status);
  app.footer("Exit status: 0 fine, 1 error, 2 wrong usage, 130 interrupted.");
  try {
    app.parse(argc, argv);
  } catch (const CLI::CallForHelp& help) {
    return app.exit(help);
  } catch (const CLI::CallForAllHelp& help) {
    return app.exit(help);
  } catch (const CLI::CallForVersion& version) {
    return app.exit(version);
  } catch (const CLI::ParseError& error) {
    fail(std::string(error.what()) + "; `fettle --help` and `fettle COMMAND --help` tell more");
    return kUsage;
  }
  return status;
}
