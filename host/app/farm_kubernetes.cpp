// fettle farm kubernetes: manifests of build workers, and how to make their image.
#include <filesystem>
#include <ostream>
#include <tuple>

#include <fmt/format.h>

#include "host/app/build_version.h"
#include "host/app/farm.h"
#include "host/app/message.h"
#include "host/app/output_file.h"
#include "host/farm/kubernetes.h"
#include "host/process/run_program.h"

namespace fettle::app {
namespace {

struct KubernetesCommand {
  FarmCommand farm;
  farm::KubernetesFarm objects;
  std::string out;
};

int run(const KubernetesCommand& command) {
  auto worker = worker_of(command.farm);
  if (!worker) return fail(worker.error());
  auto version = build_version();
  if (!version) return fail(version.error());
  farm::KubernetesFarm objects = command.objects;
  objects.worker = std::move(*worker);
  objects.version = std::move(*version);
  objects.least = command.farm.least;
  objects.most = command.farm.most;
  if (auto good = farm::check(objects); !good) return fail(good.error());
  const std::string deployment = farm::deployment_of(objects);
  const std::string autoscaler = farm::autoscaler_of(objects);
  if (command.out.empty()) {
    print("{}---\n{}", deployment, autoscaler);
    return kFine;
  }
  const std::filesystem::path folder = command.out;
  std::error_code failed;
  std::filesystem::create_directories(folder, failed);
  for (const auto& [what, name, text] :
       {std::tuple{"a Deployment", "deployment.yaml", deployment},
        std::tuple{"its autoscaler", "autoscaler.yaml", autoscaler},
        std::tuple{"how to make its image", "Containerfile",
                   farm::containerfile(process::read_file("/etc/os-release"))}}) {
    const auto written =
        with_output_file(folder / name, [&, &what = what, &text = text](std::ostream& file) {
          file << text;
          return Result<std::string>(what);
        });
    if (!written) return fail(written.error());
  }
  return kFine;
}

}  // namespace

void add_farm_kubernetes_command(CLI::App& farm, int& status) {
  auto* kubernetes = farm.add_subcommand(
      "kubernetes",
      "Writes a Deployment of build workers and the HorizontalPodAutoscaler that sizes it");
  auto command = std::make_shared<KubernetesCommand>();
  command->farm.least = 1;
  farm::KubernetesFarm& objects = command->objects;
  add_farm_options(*kubernetes, command->farm);
  kubernetes
      ->add_option("--min", command->farm.least,
                   "Workers that are there in any case (none: the cluster must allow it)")
      ->capture_default_str();
  kubernetes->add_option("--image", objects.image, "The workers' image")->required();
  kubernetes->add_option("--name", objects.name, "Of both objects")->capture_default_str();
  kubernetes->add_option("--namespace", objects.space, "Theirs")->capture_default_str();
  kubernetes
      ->add_option("--secret", objects.secret, "The Secret that holds the key pair's file, KEY.key")
      ->capture_default_str();
  kubernetes
      ->add_option("--memory", objects.memory_mib,
                   "MiB of a worker (default: 512, and 1024 for each compiler)")
      ->check(CLI::Range(256u, 4u << 20));
  kubernetes->add_option("--out", command->out,
                         "Writes deployment.yaml, autoscaler.yaml and a Containerfile into this "
                         "folder (default: YAML on standard output)");
  kubernetes->footer(
      "Make the Secret with `kubectl create secret generic fettle-builder "
      "--from-file=$HOME/.config/fettle/builder.key`. The metric comes from the broker's /metrics "
      "(`fettle broker --web` or --metrics), by prometheus-adapter or KEDA: docs/fleet.md.");
  kubernetes->callback([command, &status] { status = run(*command); });
}

}  // namespace fettle::app
