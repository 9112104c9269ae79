# Takes what flatc's object API copies, packs and unpacks out of a generated header, so that one
# object file compiles it and not each that includes the header: a second of every file there is.
#   awk -v header=OUT.h -v source=OUT.cpp -f split_generated.awk IN.h
# A function that looks otherwise than here stays where it is, which is as right.
BEGIN {
  name = header
  sub(/.*\//, "", name)
  printf "#include \"%s\"\n", name >source
  printf "" >header
}

# Of a member, or of an object: "inline Offset<T> CreateT(FlatBufferBuilder &_fbb, const TT *_o, …) {".
/^inline [^(]*[A-Za-z0-9_]::~?[A-Za-z0-9_]+\(.*\{$/ || /^inline [^(]* Create[A-Za-z0-9_]*\(.*\*_o,.*\{$/ {
  moving = 1
  sub(/^inline /, "")
}

# What is in a namespace there must be in it here.
/^namespace .*\{$/ || /^\}  \/\/ namespace / { print >source }

{
  if (moving) print >source
  else print >header
}

moving && /^\}$/ { moving = 0 }
