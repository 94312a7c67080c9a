#include "base/normal.h"

#include <gsl/gsl_cdf.h>

double tsim_expected_maximum(double n) {
    return n > 1 ? gsl_cdf_ugaussian_Pinv((n - 0.375) / (n + 0.25)) : 0;
}

double tsim_student_quantile(double probability, double freedom) {
    return gsl_cdf_tdist_Pinv(probability, freedom);
}
