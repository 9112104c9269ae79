// FETTLE_EMBED(name, "path"): the assembler copies a file into the program, between name_begin and
// name_end. Once for each name, in a source file of its own.
#pragma once

#define FETTLE_EMBED(name, path)                                             \
  asm(".pushsection .rodata\n" #name "_begin:\n.incbin \"" path "\"\n" #name \
      "_end:\n.byte 0\n.popsection\n");                                      \
  extern "C" const char name##_begin[], name##_end[];
