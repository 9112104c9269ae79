// c[n][m] = sum over k of a[k][m] b[k][n]: a is K x M, b is K x N, c is N x M, all row-major.
//
// A work-group computes a tile of MWG x NWG elements, a thread MWI x NWI neighbours of them. With
// SA (SB) the group first copies the tile's KWG rows of a (b) into local memory, its threads set
// out as MDIMA (NDIMB) along the row.

#define PASTE(a, b) a##b
#define VECTOR(width) PASTE(float, width)
#define LOAD(width) PASTE(vload, width)
#define STORE(width) PASTE(vstore, width)
#define float1 float
#define vload1(i, p) ((p)[i])
#define vstore1(v, i, p) ((p)[i] = (v))

#define MWI (MWG / MDIMC)
#define NWI (NWG / NDIMC)
#define THREADS (MDIMC * NDIMC)
#define KDIMA (THREADS / MDIMA)
#define KDIMB (THREADS / NDIMB)

__kernel __attribute__((reqd_work_group_size(MDIMC, NDIMC, 1)))
void gemm(__global const float* restrict a, __global const float* restrict b,
          __global float* restrict c) {
  const int m0 = get_group_id(0) * MWG, n0 = get_group_id(1) * NWG;
  const int m = get_local_id(0) * MWI, n = get_local_id(1) * NWI;  // within the tile
#if SA || SB
  const int thread = get_local_id(1) * MDIMC + get_local_id(0);
#endif
#if SA
  __local float a_tile[KWG * MWG];
#endif
#if SB
  __local float b_tile[KWG * NWG];
#endif
  VECTOR(VWM) sum[NWI][MWI / VWM];
  for (int j = 0; j < NWI; ++j) {
    for (int i = 0; i < MWI / VWM; ++i) sum[j][i] = 0.0f;
  }

  for (int k0 = 0; k0 < K; k0 += KWG) {
#if SA
    for (int k = thread / MDIMA; k < KWG; k += KDIMA) {
      for (int i = thread % MDIMA; i < MWG / VWM; i += MDIMA) {
        STORE(VWM)(LOAD(VWM)(i, a + (k0 + k) * M + m0), i, a_tile + k * MWG);
      }
    }
#endif
#if SB
    for (int k = thread / NDIMB; k < KWG; k += KDIMB) {
      for (int j = thread % NDIMB; j < NWG / VWN; j += NDIMB) {
        STORE(VWN)(LOAD(VWN)(j, b + (k0 + k) * N + n0), j, b_tile + k * NWG);
      }
    }
#endif
#if SA || SB
    barrier(CLK_LOCAL_MEM_FENCE);
#endif
#pragma unroll KWI
    for (int k = 0; k < KWG; ++k) {
      VECTOR(VWM) of_a[MWI / VWM];
      float of_b[NWI];
      for (int i = 0; i < MWI / VWM; ++i) {
#if SA
        of_a[i] = LOAD(VWM)(i, a_tile + k * MWG + m);
#else
        of_a[i] = LOAD(VWM)(i, a + (k0 + k) * M + m0 + m);
#endif
      }
      for (int j = 0; j < NWI / VWN; ++j) {
#if SB
        STORE(VWN)(LOAD(VWN)(j, b_tile + k * NWG + n), j, of_b);
#else
        STORE(VWN)(LOAD(VWN)(j, b + (k0 + k) * N + n0 + n), j, of_b);
#endif
      }
      for (int j = 0; j < NWI; ++j) {
        for (int i = 0; i < MWI / VWM; ++i) sum[j][i] += of_a[i] * of_b[j];
      }
    }
#if SA || SB
    barrier(CLK_LOCAL_MEM_FENCE);
#endif
  }

  for (int j = 0; j < NWI; ++j) {
    for (int i = 0; i < MWI / VWM; ++i) {
      STORE(VWM)(sum[j][i], i, c + (n0 + n + j) * M + m0 + m);
    }
  }
}
