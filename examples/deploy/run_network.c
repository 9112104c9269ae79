/* A network in a product: loaded once, run for each input. Raw bytes in, the best classes out.
 *
 *   run_network net.fettle input.bin
 *
 * input.bin holds the bytes of the network's first input, row-major. */
#include <fettle_rt.h>
#include <stdio.h>
#include <stdlib.h>

static int fail(const char* what) {
  fprintf(stderr, "run_network: %s\n", what);
  return 1;
}

/* The bytes of a file, exactly as many; NULL: it has not as many. */
static void* read_exactly(const char* path, size_t bytes) {
  FILE* file = fopen(path, "rb");
  char* to = file ? malloc(bytes) : NULL;
  const int right = to && fread(to, 1, bytes, file) == bytes && fgetc(file) == EOF;
  if (file) fclose(file);
  if (right) return to;
  free(to);
  return NULL;
}

int main(int argc, char** argv) {
  if (argc != 3) return fail("takes a network and a file with its input");
  fettle_options options = {.size = sizeof options, .threads = 1};
  fettle_network* network = NULL;
  if (fettle_load(argv[1], &options, &network) != FETTLE_OK) return fail(fettle_error());

  fettle_tensor input = {.size = sizeof input}, scores = {.size = sizeof scores};
  if (fettle_input(network, 0, &input) || fettle_output(network, 0, &scores)) {
    return fail(fettle_error());
  }
  if (scores.dtype != FETTLE_FLOAT32) return fail("its first output are no floats");
  void* image = read_exactly(argv[2], input.bytes);
  if (!image) {
    fprintf(stderr, "run_network: %s has not the %llu bytes of the input %s\n", argv[2],
            (unsigned long long)input.bytes, input.name);
    return 1;
  }

  /* The input is handed over; the output is read where it lies. */
  const void* inputs[] = {image};
  if (fettle_run(network, inputs, NULL, NULL) != FETTLE_OK) return fail(fettle_error());
  const float* values = scores.data;
  size_t best = 0;
  for (size_t i = 1; i < scores.bytes / sizeof(float); ++i) {
    if (values[i] > values[best]) best = i;
  }
  printf("%s: class %zu with %g\n", fettle_name(network), best, values[best]);
  free(image);
  fettle_free(network);
  return 0;
}
