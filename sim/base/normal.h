/* normal.h - what is expected of the largest of several standard normals. */
#ifndef TSIM_BASE_NORMAL_H
#define TSIM_BASE_NORMAL_H

/* Expected maximum of n independent standard normals, quantile((n - 3/8) / (n + 1/4)) (Blom 1958); 0 for n = 1. */
double tsim_expected_maximum(double n);

#endif
