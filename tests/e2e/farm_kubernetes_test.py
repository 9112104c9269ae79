#!/usr/bin/env python3
"""The manifests of `fettle farm kubernetes`, held against the schemas of Kubernetes' API, and what
their reader must be able to rely on.   farm_kubernetes_test.py FETTLE [unittest's arguments]
Exit status 77: the schemas cannot be had here."""
import copy
import os
import pathlib
import subprocess
import sys
import tempfile
import unittest

try:
    import kubernetes_validate
    import yaml
except ImportError:
    if os.environ.get("FETTLE_IN_VENV"):
        raise
    script = pathlib.Path(__file__).resolve().parents[2] / "toolchains/kubernetes_schemas.sh"
    found = subprocess.run([script], stdout=subprocess.PIPE, text=True, check=False)
    if found.returncode != 0:
        print("skipped: no schemas of Kubernetes here")
        sys.exit(77)
    python = found.stdout.strip() + "/bin/python"
    os.execve(python, [python, *sys.argv], {**os.environ, "FETTLE_IN_VENV": "1"})

FETTLE = sys.argv.pop(1)
SCHEMA = "1.37"


class Manifests(unittest.TestCase):
    def setUp(self):
        self.folder = tempfile.TemporaryDirectory()
        self.addCleanup(self.folder.cleanup)
        self.home = pathlib.Path(self.folder.name, "home")
        self.fettle("keys", "new", "broker")

    def run_fettle(self, *words):
        environment = {**os.environ, "FETTLE_HOME": str(self.home)}
        return subprocess.run([FETTLE, *words], env=environment, capture_output=True, text=True,
                              timeout=120, check=False)

    def fettle(self, *words):
        ran = self.run_fettle(*words)
        self.assertEqual(ran.returncode, 0, ran.stderr)
        return ran.stdout

    def farm(self, *more):
        return ["farm", "kubernetes", "--broker", "tcp://broker.example:9190", "--image",
                "images.example/fettle-build-worker:0.1.0", "--max", "8", *more]

    def objects(self, *more):
        text = self.fettle(*self.farm(*more))
        deployment, autoscaler = yaml.safe_load_all(text)
        return deployment, autoscaler

    def test_are_what_the_api_takes(self):
        for more in [[], ["--min", "0", "--builders", "16", "--namespace", "tuning", "--name",
                          "a-1", "--secret", "the-key", "--memory", "4096", "--key", "k_1.x"]]:
            for each in self.objects(*more):
                kubernetes_validate.validate(each, SCHEMA, strict=True)

    def test_a_field_that_the_api_does_not_know_is_found(self):
        deployment, autoscaler = self.objects()
        wrong = copy.deepcopy(deployment)
        wrong["spec"]["template"]["spec"]["securityContext"]["runAsNonroot"] = True
        with self.assertRaises(kubernetes_validate.ValidationError):
            kubernetes_validate.validate(wrong, SCHEMA, strict=True)
        autoscaler["spec"]["maxReplicas"] = "8"
        with self.assertRaises(kubernetes_validate.ValidationError):
            kubernetes_validate.validate(autoscaler, SCHEMA, strict=True)

    def test_a_worker_may_do_no_more_than_it_must(self):
        pod = self.objects()[0]["spec"]["template"]["spec"]
        self.assertFalse(pod["automountServiceAccountToken"])
        self.assertTrue(pod["securityContext"]["runAsNonRoot"])
        self.assertEqual(pod["securityContext"]["seccompProfile"], {"type": "RuntimeDefault"})
        for container in pod["initContainers"] + pod["containers"]:
            self.assertEqual(container["securityContext"],
                             {"allowPrivilegeEscalation": False, "readOnlyRootFilesystem": True,
                              "capabilities": {"drop": ["ALL"]}})
            for side in ("requests", "limits"):
                self.assertEqual(set(container["resources"][side]), {"cpu", "memory"})
        secret = [volume for volume in pod["volumes"] if "secret" in volume]
        self.assertEqual(secret[0]["secret"], {"secretName": "fettle-builder", "defaultMode": 0o440})
        mounts = {c["name"]: [m["name"] for m in c["volumeMounts"]]
                  for c in pod["initContainers"] + pod["containers"]}
        self.assertEqual(mounts, {"key": ["secret", "home"], "build-worker": ["home", "tmp"]})

    def test_the_worker_is_of_that_broker_and_no_secret_is_told(self):
        deployment, _ = self.objects("--builders", "3", "--key", "farm")
        container = deployment["spec"]["template"]["spec"]["containers"][0]
        keys = {line.split()[0]: line.split()[1]
                for line in (self.home / "broker.key").read_text().splitlines()}
        self.assertEqual(container["command"],
                         ["fettle", "build-worker", "--broker", "tcp://broker.example:9190",
                          "--broker-key", keys["public"], "--key", "farm", "--builders", "3"])
        self.assertEqual(container["resources"]["requests"], {"cpu": "3", "memory": "3584Mi"})
        text = self.fettle(*self.farm())
        for file in self.home.glob("*.key"):
            secret = file.read_text().split("secret ")[1].strip()
            self.assertNotIn(secret, text)

    def test_the_autoscaler_follows_the_metric_of_this_version(self):
        deployment, autoscaler = self.objects("--min", "2", "--builders", "4")
        spec = autoscaler["spec"]
        self.assertEqual(spec["scaleTargetRef"]["name"], deployment["metadata"]["name"])
        self.assertEqual((spec["minReplicas"], spec["maxReplicas"]), (2, 8))
        external = spec["metrics"][0]["external"]
        self.assertEqual(external["metric"]["name"], "fettle_broker_builds_wanted")
        version = external["metric"]["selector"]["matchLabels"]["version"]
        self.assertRegex(version, r"^\d+\.\d+\.\d+-[0-9a-f]{16}$")
        self.assertEqual(external["target"], {"type": "AverageValue", "averageValue": "4"})

    def test_a_folder_has_all_of_it(self):
        out = pathlib.Path(self.folder.name, "a/b")
        self.assertEqual(self.fettle(*self.farm("--out", str(out))), "")
        self.assertEqual(sorted(p.name for p in out.iterdir()),
                         ["Containerfile", "autoscaler.yaml", "deployment.yaml"])
        for name in ("deployment.yaml", "autoscaler.yaml"):
            kubernetes_validate.validate(yaml.safe_load((out / name).read_text()), SCHEMA,
                                         strict=True)
        lines = (out / "Containerfile").read_text().splitlines()
        starts = [line.split()[0] for line in lines if line and line[0].isupper()]
        self.assertEqual(starts, ["FROM", "COPY", "RUN", "USER", "ENV", "ENTRYPOINT"])

    def test_what_cannot_be_is_refused(self):
        for more, word in [(["--min", "9"], "--max 8"), (["--namespace", "Not One"], "--namespace"),
                           (["--name", "a\nkind: Pod"], "--name")]:
            ran = self.run_fettle(*self.farm(*more))
            self.assertEqual(ran.returncode, 2 if more[0] == "--min" else 1, more)
            self.assertIn(word, ran.stderr)
            self.assertEqual(ran.stdout, "")


if __name__ == "__main__":
    unittest.main(verbosity=2)
