// Text against files: a program's main() hands its arguments over, a test its text.
#pragma once

#include <string>

namespace fettle::golden {

// GoogleTest's main; with --update-golden the files are written anew.
int run(int argc, char** argv);
void expect(const std::string& text, const std::string& path);

}  // namespace fettle::golden
