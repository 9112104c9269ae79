#!/usr/bin/env python3
"""Who includes whom: a library's files may include headers of the libraries that it links,
itself or through others, as CMakeLists.txt files say it, and of schemas/. Prints each include
that may not be; exit status 1 when there is one.   check_layers.py (from the root)"""
import pathlib
import re
import sys

# Interfaces: whoever calls through them does not link what is behind (ARCHITECTURE.md).
INTERFACES = {
    "host/tune/pipeline.h",
    "host/backend/calibration.h",
    "agent/device/device.h",
    "agent/device/device_config.h",
    "agent/device/device_option.h",
    "agent/device/self_test_program.h",
}

links, home = {}, {}  # target: targets; folder: targets whose sources are there
for top in ("schemas", "fpga", "runtime", "host", "agent"):
    for file in pathlib.Path(top).rglob("CMakeLists.txt"):
        text = re.sub(r"#.*", "", file.read_text())
        for name, body in re.findall(r"fettle_library\(\s*(\w+)([^()]*)\)", text):
            sources, _, linked = body.partition("LINKS")
            links[name] = linked.split()
            for source in sources.replace("SOURCES", "").split():
                folder = (file.parent / source).parent.as_posix()
                home.setdefault(folder, set()).add(name)


def reach(name, seen):
    for other in links.get(name, ()):
        if other not in seen:
            seen.add(other)
            reach(other, seen)
    return seen


bad = 0
for folder, targets in sorted(home.items()):
    allowed = set(targets).union(*(reach(name, set()) for name in targets))
    for file in sorted(pathlib.Path(folder).glob("*.[ch]*")):
        for header in re.findall(r'^#include "(\w+/[^"]+)"', file.read_text(), re.M):
            of = home.get(str(pathlib.PurePosixPath(header).parent), set())
            if header in INTERFACES or not of or of & allowed:
                continue
            print(f"   {file} includes {header}: {' or '.join(sorted(of))} is not linked by {'/'.join(sorted(targets))}")
            bad += 1
if not home or not links:
    sys.exit("   no libraries found")
sys.exit(1 if bad else 0)
