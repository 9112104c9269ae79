"""Says what cocotb's report says: judge.py results.xml. Exit status 1 when a test failed or none ran."""

import sys
import xml.etree.ElementTree

cases = list(xml.etree.ElementTree.parse(sys.argv[1]).iter("testcase"))
failed = [c for c in cases if c.find("failure") is not None or c.find("error") is not None]
for case in cases:
    print("FAILED" if case in failed else "ok    ", case.get("name"), f"{float(case.get('time')):.1f} s")
if not cases:
    print("no test ran")
sys.exit(1 if failed or not cases else 0)
