// The manifests' text (kubernetes.h). Every value that a user gave stands there as a JSON string,
// which YAML reads as it is.
#include "host/farm/kubernetes.h"

#include <fmt/format.h>

#include <algorithm>
#include <nlohmann/json.hpp>
#include <sstream>

namespace fettle::farm {
namespace {

constexpr unsigned kUser = 65532;  // nobody's own in most images

// The key pair's file belongs to root in a Secret, and to a group; fettle takes none that others
// than its owner may read. So it is copied, into memory.
constexpr const char* kDeployment = R"(apiVersion: apps/v1
kind: Deployment
metadata:
  name: {name}
  namespace: {space}
  labels: {{app.kubernetes.io/name: {name}}}
spec:
  # No replicas: the HorizontalPodAutoscaler says how many.
  selector:
    matchLabels: {{app.kubernetes.io/name: {name}}}
  template:
    metadata:
      labels: {{app.kubernetes.io/name: {name}}}
    spec:
      automountServiceAccountToken: false
      enableServiceLinks: false
      terminationGracePeriodSeconds: 10
      securityContext:
        runAsNonRoot: true
        runAsUser: {user}
        runAsGroup: {user}
        fsGroup: {user}
        seccompProfile: {{type: RuntimeDefault}}
      initContainers:
        - name: key
          image: {image}
          command: ["install", "-m", "600", {key_from}, {key_to}]
          securityContext: &strict
            allowPrivilegeEscalation: false
            readOnlyRootFilesystem: true
            capabilities: {{drop: [ALL]}}
          resources:
            requests: {{cpu: 10m, memory: 16Mi}}
            limits: {{cpu: 100m, memory: 64Mi}}
          volumeMounts:
            - {{name: secret, mountPath: /secret, readOnly: true}}
            - {{name: home, mountPath: /home/fettle}}
      containers:
        - name: build-worker
          image: {image}
          command: {command}
          env:
            - {{name: FETTLE_HOME, value: /home/fettle}}
          securityContext: *strict
          resources:
            requests: {{cpu: {cpu}, memory: {memory}}}
            limits: {{cpu: {cpu}, memory: {memory}}}
          volumeMounts:
            - {{name: home, mountPath: /home/fettle}}
            - {{name: tmp, mountPath: /tmp}}
      volumes:
        - name: secret
          secret: {{secretName: {secret}, defaultMode: 288}}  # 0440
        - {{name: home, emptyDir: {{medium: Memory, sizeLimit: 1Mi}}}}
        - {{name: tmp, emptyDir: {{sizeLimit: 1Gi}}}}
)";

constexpr const char* kAutoscaler = R"(apiVersion: autoscaling/v2
kind: HorizontalPodAutoscaler
metadata:
  name: {name}
  namespace: {space}
  labels: {{app.kubernetes.io/name: {name}}}
spec:
  scaleTargetRef: {{apiVersion: apps/v1, kind: Deployment, name: {name}}}
  minReplicas: {least}
  maxReplicas: {most}
  metrics:
    - type: External
      external:
        metric:
          # Compilers that would keep no candidate waiting, of the broker's /metrics.
          name: fettle_broker_builds_wanted
          selector:
            matchLabels: {{version: {version}}}
        target: {{type: AverageValue, averageValue: {builders}}}
  behavior:
    scaleUp:
      stabilizationWindowSeconds: 0
      policies:
        - {{type: Percent, value: 100, periodSeconds: 15}}
        - {{type: Pods, value: 4, periodSeconds: 15}}
    scaleDown:
      stabilizationWindowSeconds: 300
)";

constexpr const char* kContainerfile =
    R"(# A build worker of fettle {version}. Beside this file lies the Debian package that `./dev packages
# host` makes: a worker builds for sessions of the very same program only.
{base}
COPY fettle_*.deb /tmp/
RUN apt-get update && \
    apt-get install -y --no-install-recommends /tmp/fettle_*.deb && \
    rm -rf /tmp/fettle_*.deb /var/lib/apt/lists/*
USER {user}:{user}
ENV FETTLE_HOME=/home/fettle
ENTRYPOINT ["fettle", "build-worker"]
)";

// Of lines NAME=VALUE, the value perhaps in quotation marks; "" without.
std::string value_of(const std::string& name, const std::string& os_release) {
  std::istringstream lines(os_release);
  for (std::string line; std::getline(lines, line);) {
    if (!line.starts_with(name + "=")) continue;
    line.erase(0, name.size() + 1);
    std::erase_if(line, [](char c) { return c == '"' || c == '\''; });
    return line;
  }
  return "";
}

std::string base_of(const std::string& os_release) {
  const std::string id = value_of("ID", os_release), version = value_of("VERSION_ID", os_release);
  const bool is_number =
      !version.empty() && version.find_first_not_of("0123456789.") == version.npos;
  if (id == "debian" && is_number) return "FROM debian:" + version + "-slim";
  if (id == "ubuntu" && is_number) return "FROM ubuntu:" + version;
  return "# Put the release there that the package was built on: elsewhere it does not install.\n"
         "FROM debian:12-slim";
}

std::string quoted(const std::string& text) {
  return nlohmann::json(text).dump(-1, ' ', true, nlohmann::json::error_handler_t::replace);
}

// As Kubernetes wants names of objects: RFC 1123's labels.
bool is_label(const std::string& text) {
  const auto plain = [](char c) { return (c >= 'a' && c <= 'z') || (c >= '0' && c <= '9'); };
  return !text.empty() && text.size() <= 63 && plain(text.front()) && plain(text.back()) &&
         std::all_of(text.begin(), text.end(), [&](char c) { return plain(c) || c == '-'; });
}

}  // namespace

unsigned default_memory_mib(unsigned builders) { return 512 + 1024 * builders; }

Result<void> check(const KubernetesFarm& farm) {
  for (const auto& [what, text] :
       {std::pair{"--name", &farm.name}, std::pair{"--namespace", &farm.space},
        std::pair{"--secret", &farm.secret}}) {
    if (is_label(*text)) continue;
    return Error{ErrorCode::InvalidArgument,
                 fmt::format("{}: '{}' is no name for Kubernetes: up to 63 small letters, digits "
                             "and '-', none at its ends",
                             what, *text),
                 {}};
  }
  if (farm.image.empty() || std::any_of(farm.image.begin(), farm.image.end(),
                                        [](unsigned char c) { return c <= ' ' || c > '~'; })) {
    return Error{
        ErrorCode::InvalidArgument, "--image: '" + farm.image + "' is no image's name", {}};
  }
  return {};
}

std::string deployment_of(const KubernetesFarm& farm) {
  using fmt::arg;
  const unsigned memory =
      farm.memory_mib > 0 ? farm.memory_mib : default_memory_mib(farm.worker.builders);
  const std::string file = farm.worker.key + ".key";
  const std::string command = nlohmann::json(words_of(farm.worker)).dump();
  return fmt::format(
      fmt::runtime(kDeployment), arg("name", quoted(farm.name)), arg("space", quoted(farm.space)),
      arg("user", kUser), arg("image", quoted(farm.image)),
      arg("key_from", quoted("/secret/" + file)), arg("key_to", quoted("/home/fettle/" + file)),
      arg("command", command), arg("cpu", quoted(std::to_string(farm.worker.builders))),
      arg("memory", std::to_string(memory) + "Mi"), arg("secret", quoted(farm.secret)));
}

std::string autoscaler_of(const KubernetesFarm& farm) {
  using fmt::arg;
  return fmt::format(fmt::runtime(kAutoscaler), arg("name", quoted(farm.name)),
                     arg("space", quoted(farm.space)), arg("least", farm.least),
                     arg("most", farm.most), arg("version", quoted(farm.version)),
                     arg("builders", quoted(std::to_string(farm.worker.builders))));
}

std::string containerfile(const std::string& os_release) {
  return fmt::format(fmt::runtime(kContainerfile), fmt::arg("version", FETTLE_VERSION),
                     fmt::arg("base", base_of(os_release)), fmt::arg("user", kUser));
}

}  // namespace fettle::farm
