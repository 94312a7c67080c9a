#include "base/normal.h"

#include <gsl/gsl_cdf.h>
#include <math.h>

double tsim_expected_maximum(double n) {
    return n > 1 ? gsl_cdf_ugaussian_Pinv((n - 0.375) / (n + 0.25)) : 0;
}

double tsim_deviation_of_maximum(double n) {
    enum { N_MIDPOINTS = 2000 };
    double sum = 0, squares = 0;
    if (n <= 1)
        return 1;
    for (int i = 0; i < N_MIDPOINTS; i++) {
        double x = gsl_cdf_ugaussian_Pinv(pow((i + 0.5) / N_MIDPOINTS, 1 / n));
        sum += x;
        squares += x * x;
    }
    return sqrt(squares / N_MIDPOINTS - sum * sum / N_MIDPOINTS / N_MIDPOINTS);
}

double tsim_student_quantile(double probability, double freedom) {
    return gsl_cdf_tdist_Pinv(probability, freedom);
}

double tsim_normal_quantile(double probability) {
    return gsl_cdf_ugaussian_Pinv(probability);
}

double tsim_spread_quantile(double probability, double spread) {
    return exp(tsim_normal_quantile(probability) / tsim_normal_quantile(0.9) * log(spread));
}
