#!/usr/bin/env python3
"""Draws what a command printed as a terminal: COMMAND 2>&1 | terminal_svg.py 'COMMAND' > picture.svg
Of a line that was drawn over (\\r) the last state counts."""
import html
import sys

WIDTH, HEIGHT = 7.25, 16  # of a character at 12 px, in px
lines = ["$ " + sys.argv[1]]
lines += [line.rsplit("\r", 1)[-1].rstrip() for line in sys.stdin.read().rstrip("\n").split("\n")]
width = int(max(map(len, lines)) * WIDTH) + 24
height = len(lines) * HEIGHT + 24
print(f'<svg xmlns="http://www.w3.org/2000/svg" width="{width}" height="{height}">')
print(f'<rect width="{width}" height="{height}" rx="6" fill="#1e2430"/>')
print('<g font-family="DejaVu Sans Mono, Menlo, Consolas, monospace" font-size="12" fill="#d8dee9">')
for number, line in enumerate(lines):
    colour = ' fill="#8fbcbb"' if number == 0 else ""
    print(f'<text x="12" y="{24 + number * HEIGHT}" xml:space="preserve"{colour}>{html.escape(line)}</text>')
print("</g>\n</svg>")
