// SPDX-License-Identifier: Apache-2.0
/* BLIS 0.9.0: the norm of a vector with two infinities is NaN.
 * cc blis_normfv_of_infinities.c -I/usr/include/x86_64-linux-gnu/blis-openmp -lblis -lm && ./a.out
 * According to docs/BLISTypedAPI.md the norm is the root of the sum of squares: infinite. */
#include <blis.h>
#include <math.h>
#include <stdio.h>

int main(void) {
  double one[2] = {INFINITY, 1}, two[2] = {INFINITY, INFINITY}, of_one, of_two;
  bli_dnormfv(2, one, 1, &of_one);
  bli_dnormfv(2, two, 1, &of_two);
  printf("BLIS %s: norm of (inf, 1) %g, of (inf, inf) %g, expected inf inf\n",
         bli_info_get_version_str(), of_one, of_two);
  return !(isinf(of_one) && isinf(of_two));
}
