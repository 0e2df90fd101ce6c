// SPDX-License-Identifier: Apache-2.0
/* BLIS 0.9.0: in a product's last column NaN and infinities times 0 give 0, in the others NaN.
 * cc blis_gemm_drops_nan.c -I/usr/include/x86_64-linux-gnu/blis-openmp -lblis -lm && ./a.out
 * According to docs/BLISTypedAPI.md C := beta C + alpha A B; each element of the first row is
 * one product with NaN. */
#include <blis.h>
#include <math.h>
#include <stdio.h>

int main(void) {
  double a[2] = {NAN, 1}, b[3] = {1, 0, 0}, c[6], one = 1, zero = 0;
  bli_dgemm(BLIS_NO_TRANSPOSE, BLIS_NO_TRANSPOSE, 2, 3, 1, &one, a, 1, 2, b, 3, 1, &zero, c, 3, 1);
  printf("BLIS %s, %s: first row %g %g %g, expected nan nan nan\n", bli_info_get_version_str(),
         bli_arch_string(bli_arch_query_id()), c[0], c[1], c[2]);
  return !(isnan(c[0]) && isnan(c[1]) && isnan(c[2]));
}
