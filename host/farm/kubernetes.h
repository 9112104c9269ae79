// Build workers as a Deployment that a HorizontalPodAutoscaler sizes by the broker's metric.
#pragma once

#include <string>

#include "host/farm/worker_command.h"
#include "schemas/wire/result.h"

namespace fettle::farm {

struct KubernetesFarm {
  std::string image;
  std::string name = "fettle-build-worker", space = "default";  // of both objects, and where
  std::string secret = "fettle-builder";  // holds the key pair's file, KEY.key
  std::string version;                    // of what builds (build_key.h): whose metric counts
  WorkerCommand worker;
  unsigned least = 1, most = 1;  // pods
  unsigned memory_mib = 0;       // of a pod; 0: default_memory_mib
};

unsigned default_memory_mib(unsigned builders);

// InvalidArgument: a name that is no DNS label, an image that is no word.
Result<void> check(const KubernetesFarm& farm);

// YAML. Of checked ones.
std::string deployment_of(const KubernetesFarm& farm);
std::string autoscaler_of(const KubernetesFarm& farm);
// How to make the image, of a Debian package of this fettle beside it: on the release of Debian or
// Ubuntu that `os_release` (/etc/os-release's text) tells of; another's says what to change.
std::string containerfile(const std::string& os_release);

}  // namespace fettle::farm
