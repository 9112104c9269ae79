// A program that has a network out of the library of `fettle export` and nothing else of fettle
// (check_network.sh): floats from the one file, answers into the other, and what one run took.
// INPUTS and OUTPUTS are how many floats that are, from the compiler's command line.
//   plain_network INPUT OUTPUT
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

#include "net.h"

static _Alignas(NET_ALIGNMENT) float input[INPUTS];
static _Alignas(NET_ALIGNMENT) float output[OUTPUTS];

static double seconds(void) {
  struct timespec now;
  timespec_get(&now, TIME_UTC);
  return (double)now.tv_sec + 1e-9 * (double)now.tv_nsec;
}

int main(int argc, char** argv) {
  if (argc != 3) return 2;
  FILE* const from = fopen(argv[1], "rb");
  if (!from || fread(input, sizeof(float), INPUTS, from) != INPUTS) return 3;
  fclose(from);
  void* const workspace = malloc(net_workspace_bytes());
  if (!workspace) return 4;
  net_init(workspace);
  const double start = seconds();
  if (net_run(workspace, input, output)) return 5;
  const double took = seconds() - start;
  free(workspace);
  FILE* const to = fopen(argv[2], "wb");
  if (!to || fwrite(output, sizeof(float), OUTPUTS, to) != OUTPUTS || fclose(to)) return 6;
  printf("one run %.1f s\n", took);
  return 0;
}
