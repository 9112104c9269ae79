#!/usr/bin/env python3
"""Runs the commands of README.md and docs/ as they are written, in one folder, page after page.

    docs_test.py --source REPOSITORY --build FOLDER [--look] [--keep FOLDER]

Commands are fenced blocks whose first word is `sh`. Further words say what a block needs:

    sh not-run: REASON   not run; its commands' options are held to their --help
    sh needs-opencl      run where `fettle devices` shows an OpenCL device or a driver is installed
    sh background        goes on running until all pages are done
    sh board=NAME        run on the board that `scp … board:` was for, which is emulated
    sh wait-for=KEY      run once the broker has a device of that key

A block whose needs this machine lacks is left out, and what it lacks is said; so is one that waits for a
board whose block was left out. --look runs none and holds all to the programs' --help.

A command in any other block is a failure, and so is an option, here or in the text, that its program's
--help does not know. What a reader fills in is filled in (LAPTOP, KEY_OF_…), the broker's port is one
that is free, and trials, seeds and turns are cut down: the numbers are for a reader's patience, not for
this test's.
"""
import argparse
import dataclasses
import glob
import json
import os
import pathlib
import re
import shlex
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
import time

PAGES = ["README.md"] + ["docs/" + name + ".md" for name in (
    "networks", "tuning", "own-layers", "records", "devices", "deploying", "fleet", "security", "benchmarks",
    "boards", "troubleshooting", "coming-from-autotvm", "invariants", "decisions")]
PROGRAMS = r"(?:\./dev|(?:build/bin/)?fettle(?:-bench)?|(?:\./)?fettle-(?:agent|run)|build/agents/\w+/fettle-\w+)"
COMMAND = re.compile(r"^\s*(?:sudo )?" + PROGRAMS + r"(?: |$)|^\s*(?:sudo|scp|ssh|cmake|cp|product/\w+) ")
ARCHITECTURES = {"pynq": "armv7", "rk3399": "aarch64"}
EMULATORS = {"armv7": ("qemu-arm-static", "qemu-arm"), "aarch64": ("qemu-aarch64-static", "qemu-aarch64")}
BLOCK_SECONDS = 200
# Cut down, in this order: each is an option and what its number becomes at most.
FEWER = {"--trials": 40, "--seeds": 1, "--in-place": 2}


@dataclasses.dataclass
class Block:
    page: str
    line: int
    words: str  # behind the first of the fence
    text: str
    language: str

    def where(self):
        return f"{self.page}:{self.line}"

    def has(self, word):
        return re.search(rf"(?:^|\s){word}(?:\s|$)", self.words) is not None

    def value(self, name):
        found = re.search(rf"(?:^|\s){name}=(\S+)", self.words)
        return found and found.group(1)

    def reason(self):
        found = re.search(r"not-run:\s*(.+)", self.words)
        return found and found.group(1)


def read_page(path, page):
    """Its blocks, and the text around them with line numbers."""
    blocks, prose, fence = [], [], None
    for number, line in enumerate(path.read_text().splitlines(), 1):
        if line.startswith("```"):
            if fence is None:
                language, _, words = line[3:].strip().partition(" ")
                fence = Block(page, number, words, "", language)
            else:
                blocks.append(fence)
                fence = None
        elif fence is not None:
            fence.text += line + "\n"
        else:
            prose.append((number, line))
    if fence is not None:
        sys.exit(f"{fence.where()}: this block does not end")
    return blocks, prose


class Help:
    """What the programs' --help knows."""

    def __init__(self, build):
        self.programs = {"fettle": build / "bin/fettle", "fettle-bench": build / "bin/fettle-bench",
                         "fettle-run": build / "bin/fettle-run", "fettle-agent": build / "bin/fettle-agent"}
        self.texts = {}

    def text(self, *words):
        if words not in self.texts:
            done = subprocess.run([*words, "--help"], capture_output=True, text=True, timeout=60)
            self.texts[words] = done.stdout + done.stderr if done.returncode == 0 else ""
        return self.texts[words]

    def complaint(self, command):
        """Why `command` cannot be right; None: it may be."""
        try:
            words = shlex.split(command, comments=True)
        except ValueError:
            return None  # a here-document's middle, or a figure of speech
        while words and (words[0] == "sudo" or "=" in words[0]):
            words.pop(0)
        if not words:
            return None
        program = self.programs.get(pathlib.PurePath(words[0]).name)
        if program is None or not program.exists():
            return None
        asked = [str(program)]
        for word in words[1:3]:
            if not re.fullmatch(r"[a-z][a-z-]*", word) or f"\n  {word} " not in self.text(*asked):
                break
            asked.append(word)
        if program.name in ("fettle", "fettle-bench") and len(asked) == 1 and len(words) > 1 \
                and re.fullmatch(r"[a-z][a-z-]*", words[1]):
            return f"{program.name} has no command '{words[1]}'"
        for word in words[1:]:
            option = re.match(r"--[a-z][a-z0-9-]*", word)
            if option and not re.search(rf"{option.group(0)}(?![a-z0-9-])", self.text(*asked)):
                return f"'{' '.join([program.name, *asked[1:]])}' has no option {option.group(0)}"
        return None


def commands_of(text):
    """A block's or a line's commands, one a string: continued lines joined."""
    return re.sub(r"\\\n\s*", " ", text).split("\n")


class Folder:
    """Where the commands run: the repository's folders, a home, stand-ins for what a board needs."""

    def __init__(self, source, build, at):
        self.at, self.children, self.logs = at, [], 0
        for name in ("docs", "examples", "tests", "host", "board_images", "toolchains", "dev"):
            (at / name).symlink_to(source / name)
        (at / "build").symlink_to(build)
        for name in ("home/.config/fettle", "board", "stand-ins"):
            (at / name).mkdir(parents=True)
        self.scp = at / "stand-ins/scp"
        self.scp.write_text(SCP.format(board=at / "board", armv7=emulator("armv7"), aarch64=emulator("aarch64")))
        self.scp.chmod(0o755)
        self.environment = {**os.environ, "HOME": str(at / "home"),
                            "FETTLE_HOME": str(at / "home/.config/fettle"),
                            "PATH": f"{at / 'stand-ins'}:{os.environ['PATH']}"}
        with socket.create_server(("127.0.0.1", 0)) as free:
            self.port = free.getsockname()[1]

    def broker(self):
        return f"tcp://127.0.0.1:{self.port}"

    def filled_in(self, text):
        keys = {}
        if "KEY_OF_" in text:
            listed = subprocess.run(["build/bin/fettle", "keys", "list", "--json"], cwd=self.at,
                                    env=self.environment, capture_output=True, text=True, check=True)
            keys = {pair["name"].upper(): pair["public_key"] for pair in json.loads(listed.stdout)["keys"]}

        def key(found):
            return keys.get(found.group(1), found.group(0))

        text = re.sub(r"KEY_OF_([A-Z0-9-]+)", key, text).replace("LAPTOP", "127.0.0.1")
        text = re.sub(r"tcp://(?:0\.0\.0\.0|127\.0\.0\.1):9190", self.broker(), text)
        for option, most in FEWER.items():
            text = re.sub(rf"({option}) (\d+)", lambda found: f"{found[1]} {min(most, int(found[2]))}", text)
        return text

    def start(self, block, text):
        at = self.at / "board" if block.value("board") else self.at
        self.logs += 1
        log = open(self.at / f"log-{self.logs}", "w+")
        child = subprocess.Popen(["bash", "-euo", "pipefail", "-c", text], cwd=at, env=self.environment,
                                 stdout=log, stderr=subprocess.STDOUT, stdin=subprocess.DEVNULL,
                                 start_new_session=True)
        return child, log

    def run(self, block):
        """None, or what went wrong."""
        if block.has("background"):
            self.children.append(self.start(block, self.filled_in(block.text)))
            time.sleep(1)
            child, log = self.children[-1]
            return None if child.poll() is None else "ended at once: " + said(log)
        if block.value("wait-for") and not self.wait_for(block.value("wait-for")):
            return f"no device {block.value('wait-for')} came" + "".join("\n" + said(log) for _, log in self.children)
        # A key that is made in this block is known to the lines behind.
        parts = re.split(r"(?=^.*KEY_OF_)", block.text, flags=re.M) if "KEY_OF_" in block.text else [block.text]
        for part in filter(str.strip, parts):
            child, log = self.start(block, self.filled_in(part))
            try:
                status = child.wait(BLOCK_SECONDS)
            except subprocess.TimeoutExpired:
                end(child)
                return f"not done after {BLOCK_SECONDS} s: " + said(log)
            if status:
                return f"status {status}: " + said(log)
        return None

    def wait_for(self, key):
        for _ in range(60):
            done = subprocess.run(["build/bin/fettle", "devices", "--broker", self.broker(), "--json"],
                                  cwd=self.at, env=self.environment, capture_output=True, text=True)
            if f'"{key}' in done.stdout:
                return True
            time.sleep(0.5)
        return False


# Copies to the board; a program of another architecture gets a line in front that emulates it.
SCP = """#!/usr/bin/env bash
set -euo pipefail
for file in "${{@:1:$#-1}}"; do
  name=${{file##*/}}
  case $file in
    build/agents/armv7/*) emulator='{armv7} -cpu cortex-a9' cpu=cortex-a9 ;;
    build/agents/aarch64/*) emulator='{aarch64} -cpu cortex-a72' cpu=cortex-a72 ;;
    *) cp "$file" {board}/; continue ;;
  esac
  extra="--cpu $cpu"
  if [[ $name == fettle-agent ]]; then extra+=" --emulated --allow-unsandboxed"; fi
  printf '#!/bin/sh\\nexec %s %s "$@" %s\\n' "$emulator" "$PWD/$file" "$extra" >{board}/"$name"
  chmod +x {board}/"$name"
done
"""


def said(log):
    return pathlib.Path(log.name).read_text(errors="replace")[-3000:]


def end(child):
    os.killpg(child.pid, signal.SIGTERM)
    try:
        child.wait(10)
    except subprocess.TimeoutExpired:
        os.killpg(child.pid, signal.SIGKILL)
        child.wait()


def emulator(architecture):
    """The program of this machine that runs others' programs; "": none."""
    return next(filter(shutil.which, EMULATORS[architecture]), "")


def what_lacks(block, build):
    """Of a block that could run: what this machine lacks for it; "": nothing."""
    if block.has("needs-opencl") and not glob.glob("/etc/OpenCL/vendors/*.icd"):
        return "no OpenCL driver"
    names = re.findall(r"build/agents/(\w+)/(\S+)", block.text)
    if block.value("board"):
        architecture = ARCHITECTURES[block.value("board")]
        names += [(architecture, name) for name in re.findall(r"\./(fettle-[a-z]+)", block.text)]
    for architecture, name in names:
        if not (build / "agents" / architecture / name).exists():
            return f"no {architecture} {name}: ./dev agents {architecture}"
        if architecture in EMULATORS and not emulator(architecture):
            return f"no {' or '.join(EMULATORS[architecture])}: ./dev setup"
    return ""


def looked_at(source, help_texts):
    """All blocks, and what is wrong without running any."""
    blocks, wrong = [], []
    there = {"README.md", *(str(path.relative_to(source)) for path in (source / "docs").glob("*.md"))}
    wrong += [f"{page}: not in this test's list" for page in sorted(there - set(PAGES))]
    for page in PAGES:
        found, prose = read_page(source / page, page)
        blocks += found
        for block in found:
            for command in commands_of(block.text):
                if block.language != "sh" and COMMAND.match(command):
                    wrong.append(f"{block.where()}: a command that is neither run nor marked: {command.strip()}")
                complaint = help_texts.complaint(command) if block.language == "sh" else None
                if complaint:
                    wrong.append(f"{block.where()}: {complaint}")
            if block.has("not-run:") and not block.reason():
                wrong.append(f"{block.where()}: not run, and no reason why")
        for number, line in prose:
            for span in re.findall(r"`([^`]+)`", line):
                complaint = help_texts.complaint(span)
                if complaint:
                    wrong.append(f"{page}:{number}: {complaint}")
            for link in re.findall(r"\]\(([^)#\s]+)", line):
                if "://" not in link and not (source / page).parent.joinpath(link).exists():
                    wrong.append(f"{page}:{number}: there is no {link}")
    return blocks, wrong


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--source", type=pathlib.Path, required=True)
    parser.add_argument("--build", type=pathlib.Path, required=True)
    parser.add_argument("--look", action="store_true", help="run no command")
    parser.add_argument("--keep", type=pathlib.Path, help="run in this new folder, and keep it")
    options = parser.parse_args()
    source, build = options.source.resolve(), options.build.resolve()

    blocks, wrong = looked_at(source, Help(build))
    if not options.look:
        wrong += run_all(blocks, source, build, options.keep)
    for one in wrong:
        print(one, file=sys.stderr)
    return 1 if wrong else 0


def run_all(blocks, source, build, keep):
    """What went wrong."""
    at = keep or pathlib.Path(tempfile.mkdtemp(prefix="fettle-docs-"))
    at.mkdir(exist_ok=True)
    folder = Folder(source, build, at.resolve())
    wrong, ran, absent = [], 0, {}  # boards whose blocks were left out, and why
    try:
        for block in blocks:
            if block.language != "sh":
                continue
            why = block.reason() or what_lacks(block, build) or absent.get(block.value("wait-for"), "")
            if why:
                print(f"{block.where()}: not run: {why}", flush=True)
                if block.value("board"):
                    absent[block.value("board")] = why
                continue
            start = time.monotonic()
            problem = folder.run(block)
            print(f"{block.where()}: {time.monotonic() - start:.1f} s" + (" FAILED" if problem else ""), flush=True)
            ran += 1
            if problem:
                wrong.append(f"{block.where()}: {problem}\n{block.text}")
    finally:
        for child, _ in folder.children:
            if child.poll() is None:
                end(child)
        if not keep:
            shutil.rmtree(at, ignore_errors=True)
    print(f"{ran} blocks ran")
    return wrong


sys.exit(main())
