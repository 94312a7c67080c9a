/* normal.h - quantiles of the normal distribution, of Student's t and of the lognormal. */
#pragma once

/* Returns the expected maximum of n independent standard normals, quantile((n - 3/8) / (n + 1/4)) (Blom 1958). It is 0
 * for n = 1. */
double tsim_expected_maximum(double n);

/* Returns the standard deviation of that maximum, by its quantile function: the maximum of n is the normal quantile of
 * U^(1/n), with U uniform (Arnold, Balakrishnan, Nagaraja 2008, "A First Course in Order Statistics", section 2.4). It
 * is 1 for n = 1. */
double tsim_deviation_of_maximum(double n);

double tsim_normal_quantile(double probability);

/* Returns the quantile of the lognormal whose median is 1 and of which eight in ten values lie within the factor
 * `spread` > 1 of the median, to either side. */
double tsim_spread_quantile(double probability, double spread);

/* Returns the quantile of Student's t with `freedom` > 0 degrees of freedom. */
double tsim_student_quantile(double probability, double freedom);
