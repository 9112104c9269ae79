// What reduction.cl and reduction.cu must compute. Scratch is no argument of a reference.
void sum(const float* values, float* result) {
  double all = 0;
  for (int i = 0; i < N; ++i) all += values[i];
  *result = (float)all;
}
