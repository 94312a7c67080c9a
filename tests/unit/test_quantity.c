/* Quantities: text to SI and back, messages for what is not one, nearest words. */
#include "base/quantity.h"
#include "support/check_main.h"
#include "support/random.h"

#include <math.h>
#include <string.h>

static char why[160], hint[160];

static enum tsim_status parse(const char *text, enum tsim_dimension dimension, bool bare_ok, double *value) {
    why[0] = hint[0] = '\0';
    return tsim_quantity_parse(text, dimension, bare_ok, value, why, hint);
}

/* Decimal prefixes are powers of 1,000, binary ones of 1,024; a byte is 8 bits; a kWh is 3.6 MJ; a year 365.25 days. */
static const struct good {
    const char *text;
    enum tsim_dimension dimension;
    double value;
} GOOD[] = {
    {"1024", TSIM_COUNT, 1024},
    {"2 T", TSIM_COUNT, 2e12},
    {"300B", TSIM_COUNT, 300e9}, /* in a count B is a billion */
    {"0.5 B", TSIM_COUNT, 0.5e9},
    {"15e12", TSIM_COUNT, 15e12},
    {"128k", TSIM_COUNT, 128e3},
    {"4 Ki", TSIM_COUNT, 4096},
    {"128 Mi", TSIM_COUNT, 134217728},
    {"2 E", TSIM_COUNT, 2e18},
    {"2E", TSIM_COUNT, 2e18},
    {"1e3", TSIM_COUNT, 1000},
    {"1E3", TSIM_COUNT, 1000},
    {"+.5", TSIM_FRACTION, 0.5},
    {"5.", TSIM_FRACTION, 5},
    {"25 %", TSIM_FRACTION, 0.25},
    {"25%", TSIM_FRACTION, 0.25},
    {"80 GB", TSIM_BYTES, 80e9},
    {"80 GiB", TSIM_BYTES, 85899345920.0},
    {"8 b", TSIM_BYTES, 1},
    {"16 Kib", TSIM_BYTES, 2048},
    {"1 PB", TSIM_BYTES, 1e15},
    {"3.5 TB/s", TSIM_BYTES_PER_S, 3.5e12},
    {"400 Gb/s", TSIM_BYTES_PER_S, 50e9},
    {"400Gb/s", TSIM_BYTES_PER_S, 50e9},
    {"  400 Gb/s  ", TSIM_BYTES_PER_S, 50e9},
    {"1 Mi B/s", TSIM_BYTES_PER_S, 1048576},
    {"989 TFLOP/s", TSIM_FLOPS_PER_S, 989e12},
    {"989 TFLOPS", TSIM_FLOPS_PER_S, 989e12},
    {"2 GFLOP", TSIM_FLOPS, 2e9},
    {"30 min", TSIM_TIME_S, 1800},
    {"2 h", TSIM_TIME_S, 7200},
    {"1 d", TSIM_TIME_S, 86400},
    {"4 y", TSIM_TIME_S, 4 * 365.25 * 86400},
    {"250 ms", TSIM_TIME_S, 0.25},
    {"-3 s", TSIM_TIME_S, -3},
    {"7200 /h", TSIM_PER_S, 2},
    {"20 k tokens/s", TSIM_PER_S, 20e3},
    {"1830 MHz", TSIM_HZ, 1830e6},
    {"2.5 kW", TSIM_WATTS, 2500},
    {"500 mW", TSIM_WATTS, 0.5},
    {"2 kWh", TSIM_JOULES, 7.2e6},
    {"3 MJ", TSIM_JOULES, 3e6},
    {"20 M USD", TSIM_USD, 20e6},
    {"2 B USD", TSIM_USD, 2e9},
    {"1.5 billion USD", TSIM_USD, 1.5e9},
    {"3600 USD/h", TSIM_USD_PER_S, 1},
    {"3.6 USD/kWh", TSIM_USD_PER_J, 1e-6},
    {"3.6 kg/kWh", TSIM_KG_PER_J, 1e-6},
    {"3600 g/kWh", TSIM_KG_PER_J, 1e-6},
    {"2 t", TSIM_KG, 2000},
    {"500 g", TSIM_KG, 0.5},
    {"0", TSIM_BYTES_PER_S, 0}, /* 0 needs no unit */
    {"0.0", TSIM_TIME_S, 0},
};

TSIM_TEST_ROWS(good, GOOD) {
    const struct good *c = &GOOD[_i];
    double value = (double)NAN;
    ck_assert_msg(parse(c->text, c->dimension, false, &value) == TSIM_OK, "'%s': %s", c->text, why);
    ck_assert_double_eq_tol(value, c->value, fabs(c->value) * 1e-15 + 1e-300);
}

TSIM_TEST(bare_numbers) {
    double value = (double)NAN;
    ck_assert_int_eq(parse("400", TSIM_BYTES_PER_S, true, &value), TSIM_OK);
    ck_assert_double_eq(value, 400);
    ck_assert_int_eq(parse("400", TSIM_BYTES_PER_S, false, &value), TSIM_ERR_UNIT);
    assert_says(why, "expected bytes per second");
    ck_assert_str_eq(hint, "write 400 GB/s");
}

static const struct bad {
    const char *text;
    enum tsim_dimension dimension;
    enum tsim_status status;
    const char *why, *hint;
} BAD[] = {
    {"", TSIM_COUNT, TSIM_ERR_SCHEMA, "the text is empty", "1024, 0.5 or 1e-3"},
    {"  ", TSIM_COUNT, TSIM_ERR_SCHEMA, "the text is empty", "1024, 0.5 or 1e-3"},
    {"four", TSIM_COUNT, TSIM_ERR_SCHEMA, "'four' does not start", "1024, 0.5 or 1e-3"},
    {"nan", TSIM_FRACTION, TSIM_ERR_SCHEMA, "'nan' does not start", "1024, 0.5 or 1e-3"},
    {"inf", TSIM_FRACTION, TSIM_ERR_SCHEMA, "'inf' does not start", "1024, 0.5 or 1e-3"},
    {".", TSIM_FRACTION, TSIM_ERR_SCHEMA, "'.' does not start", "1024, 0.5 or 1e-3"},
    {"- 5", TSIM_COUNT, TSIM_ERR_SCHEMA, "'- 5' does not start", "1024, 0.5 or 1e-3"},
    {"1e999", TSIM_COUNT, TSIM_ERR_RANGE, "'1e999' is too large", "number is about 1.8e308"},
    {"1e300 EB", TSIM_BYTES, TSIM_ERR_RANGE, "'1e300 EB' is too large", "number is about 1.8e308"},
    {"0x10", TSIM_COUNT, TSIM_ERR_UNIT, "unknown unit 'x10' in '0x10'", "for example '2 T'"},
    {"1_000", TSIM_COUNT, TSIM_ERR_SCHEMA, "'1_000' is not a number: digits are not grouped",
     "write the digits without '_', or use a prefix: 2 T"},
    {"1,000 GB", TSIM_BYTES, TSIM_ERR_SCHEMA, "'1,000 GB' is not a number: digits are not grouped",
     "write the digits without ',', or use a prefix: 80 GB"},
    {"80 GB", TSIM_BYTES_PER_S, TSIM_ERR_UNIT, "expected bytes per second", "for example '3.35 TB/s'"},
    {"3 TB/s", TSIM_BYTES, TSIM_ERR_UNIT, "'3 TB/s' is bytes per second, expected bytes", "for example '80 GB'"},
    {"900 GBs", TSIM_BYTES_PER_S, TSIM_ERR_UNIT, "unknown unit 'GBs' in '900 GBs'", "did you mean 'GB/s'?"},
    {"400 Gbps", TSIM_BYTES_PER_S, TSIM_ERR_UNIT, "unknown unit 'Gbps' in '400 Gbps'", "did you mean 'Gb/s'?"},
    {"80 Gb", TSIM_FLOPS, TSIM_ERR_UNIT, "'80 Gb' is bytes, expected operations", "for example '1 TFLOP'"},
    {"3 sec", TSIM_TIME_S, TSIM_ERR_UNIT, "unknown unit 'sec' in '3 sec'", "did you mean 's'?"},
    {"3 hours", TSIM_TIME_S, TSIM_ERR_UNIT, "unknown unit 'hours' in '3 hours'", "did you mean 'h'?"},
    {"3 hours", TSIM_BYTES, TSIM_ERR_UNIT, "unknown unit 'hours' in '3 hours'", "expected bytes, for example '80 GB'"},
    {"0X10", TSIM_COUNT, TSIM_ERR_UNIT, "unknown unit 'X10' in '0X10'", "for example '2 T'"},
    {"5 m", TSIM_TIME_S, TSIM_ERR_UNIT, "unknown unit 'm' in '5 m'", "did you mean 'min'?"},
    {"2 GB", TSIM_COUNT, TSIM_ERR_UNIT, "'2 GB' is bytes, expected a count", "for example '2 T'"},
    {"2 KiB", TSIM_COUNT, TSIM_ERR_UNIT, "'2 KiB' is bytes, expected a count", "for example '2 T'"},
    {"2 billion", TSIM_COUNT, TSIM_ERR_UNIT, "unknown unit 'billion' in '2 billion'", "did you mean 'B'?"},
    {"2 EUR/h", TSIM_USD_PER_S, TSIM_ERR_UNIT, "money is US dollars", "as in '3 USD/h'"},
    {"2 k €", TSIM_USD, TSIM_ERR_UNIT, "money is US dollars", "as in '30000 USD'"},
    {"£2", TSIM_USD, TSIM_ERR_UNIT, "money is US dollars", "as in '30000 USD'"},
    {"0.2 EUR/kWh", TSIM_USD_PER_J, TSIM_ERR_UNIT, "money is US dollars", "as in '0.10 USD/kWh'"},
    {"3", TSIM_USD_PER_S, TSIM_ERR_UNIT, "expected money per time", "write 3 USD/h"},
    {"400", TSIM_KG_PER_J, TSIM_ERR_UNIT, "expected mass per energy", "write 400 g/kWh"},
    {"3.35", TSIM_BYTES_PER_S, TSIM_ERR_UNIT, "expected bytes per second", "write 3.35 TB/s"},
    {"8e10", TSIM_BYTES, TSIM_ERR_UNIT, "no unit, expected bytes", "write 8e10 B"},
    {"700", TSIM_WATTS, TSIM_ERR_UNIT, "'700' has no unit, expected power", "write 700 W"},
    {"2 bn", TSIM_COUNT, TSIM_ERR_UNIT, "unknown unit 'bn' in '2 bn'", "did you mean 'B'?"},
    {"5 xyzzy", TSIM_WATTS, TSIM_ERR_UNIT, "unknown unit 'xyzzy' in '5 xyzzy'", "expected power, for example '700 W'"},
    {"5 mB", TSIM_BYTES, TSIM_ERR_UNIT, "unknown unit 'mB' in '5 mB'", "did you mean 'MB'?"},
    {"5 KiW", TSIM_WATTS, TSIM_ERR_UNIT, "unknown unit 'KiW' in '5 KiW'", "expected power, for example '700 W'"},
    {"5 GB GB", TSIM_BYTES, TSIM_ERR_UNIT, "unknown unit 'GB GB' in '5 GB GB'", "expected bytes, for example '80 GB'"},
    {"5 %", TSIM_COUNT, TSIM_ERR_UNIT, "'5 %' is a fraction, expected a count", "for example '2 T'"},
};

TSIM_TEST_ROWS(bad, BAD) {
    const struct bad *c = &BAD[_i];
    double value = 42;
    ck_assert_int_eq(parse(c->text, c->dimension, false, &value), c->status);
    assert_says(why, c->why);
    assert_says(hint, c->hint);
    ck_assert_double_eq(value, 42); /* untouched */
}

TSIM_TEST(long_text_is_cut) {
    char text[1000];
    double value = 42;
    memset(text, 'x', sizeof text);
    text[sizeof text - 1] = '\0';
    ck_assert_int_eq(parse(text, TSIM_BYTES, false, &value), TSIM_ERR_SCHEMA);
    text[0] = '1';
    ck_assert_int_eq(parse(text, TSIM_BYTES, false, &value), TSIM_ERR_UNIT);
    memset(text, ' ', sizeof text);
    memcpy(text, "1", 1);
    memcpy(text + 500, "GB", 3); /* any number of blanks may stand between */
    ck_assert_int_eq(parse(text, TSIM_BYTES, false, &value), TSIM_OK);
    ck_assert_double_eq(value, 1e9);
}

static const struct shown {
    double value;
    enum tsim_dimension dimension;
    const char *text;
} SI[] = {
    {80e9, TSIM_BYTES, "80000000000 B"},
    {3.35e12, TSIM_BYTES_PER_S, "3.35e+12 B/s"},
    {0.1, TSIM_FRACTION, "0.1"},
    {1024, TSIM_COUNT, "1024"},
    {0, TSIM_TIME_S, "0 s"},
    {-0.0, TSIM_TIME_S, "0 s"},
    {1e300, TSIM_WATTS, "1e+300 W"},
    {5e-7, TSIM_USD_PER_J, "5e-07 USD/J"},
};

TSIM_TEST_ROWS(si_text, SI) {
    char buffer[64];
    ck_assert_str_eq(tsim_quantity_si(SI[_i].value, SI[_i].dimension, buffer, sizeof buffer), SI[_i].text);
}

/* Whatever bits a finite double has: its text gives the same double back, in every dimension. */
TSIM_TEST(si_reads_back) {
    struct random_source random = {20240917};
    for (int i = 0; i < 3000; i++) {
        uint64_t bits = random_u64(&random);
        double value, back = (double)NAN;
        memcpy(&value, &bits, sizeof value);
        if (i % 3 == 0)
            value = floor(random_real(&random) * 1e13) / 100;
        if (!isfinite(value))
            continue;
        char text[64];
        enum tsim_dimension dimension = (enum tsim_dimension)(i % TSIM_N_DIMENSIONS);
        tsim_quantity_si(value, dimension, text, sizeof text);
        ck_assert_msg(parse(text, dimension, false, &back) == TSIM_OK, "%s: %s", text, why);
        ck_assert_msg(back == value, "%s", text);
    }
}

static const struct shown HUMAN[] = {
    {80e9, TSIM_BYTES, "80.0 GB"},
    {0, TSIM_BYTES, "0 B"},
    {999, TSIM_BYTES, "999 B"},
    {999.6e3, TSIM_BYTES, "1.00 MB"}, /* rounds up to the next prefix */
    {3.35e12, TSIM_BYTES_PER_S, "3.35 TB/s"},
    {9.84e-6, TSIM_TIME_S, "9.84 us"},
    {0.0142, TSIM_TIME_S, "14.2 ms"},
    {14.2, TSIM_TIME_S, "14.2 s"},
    {119, TSIM_TIME_S, "119 s"},
    {600, TSIM_TIME_S, "10.0 min"},
    {38.5 * 86400, TSIM_TIME_S, "38.5 days"},
    {3 * 365.25 * 86400, TSIM_TIME_S, "3.00 years"},
    {1.42e6, TSIM_USD, "1.42 M USD"},
    {320, TSIM_USD, "320 USD"},
    {1.7e9, TSIM_USD, "1.70 billion USD"},
    {12345, TSIM_USD, "12.3 k USD"},
    {5017, TSIM_USD, "5.02 k USD"},
    {0, TSIM_USD, "0 USD"},
    {0, TSIM_TIME_S, "0 s"},
    {3 / 3600.0, TSIM_USD_PER_S, "3.00 USD/h"},
    {0.1 / 3.6e6, TSIM_USD_PER_J, "0.10 USD/kWh"},
    {0.4 / 3.6e6, TSIM_KG_PER_J, "0.40 kg/kWh"},
    {0.514, TSIM_FRACTION, "51.4 %"},
    {2e12, TSIM_COUNT, "2.00 T"},
    {1024, TSIM_COUNT, "1024"},
    {12345, TSIM_COUNT, "12.3 k"},
    {5e6, TSIM_JOULES, "1.39 kWh"},
    {965e3, TSIM_JOULES, "268 Wh"},
    {3000, TSIM_JOULES, "3.00 kJ"},
    {12000, TSIM_KG, "12.0 t"},
    {1234, TSIM_PER_S, "1.23 k /s"},
    {700, TSIM_WATTS, "700 W"},
    {1.41e9, TSIM_HZ, "1.41 GHz"},
    {2e22, TSIM_BYTES, "20000 EB"},
    {3e27, TSIM_FLOPS, "3e+09 EFLOP"},
    {1e-5, TSIM_WATTS, "1e-05 W"},
    {-0.0, TSIM_WATTS, "0 W"},
    {(double)NAN, TSIM_WATTS, "n/a"},
};

TSIM_TEST_ROWS(human_text, HUMAN) {
    char buffer[64];
    ck_assert_str_eq(tsim_quantity_human(HUMAN[_i].value, HUMAN[_i].dimension, buffer, sizeof buffer), HUMAN[_i].text);
}

TSIM_TEST(nearest_word) {
    static const char *const words[] = {"tensor", "pipeline", "virtual_pipeline", "data", "zero", "tp"};
    enum { N = sizeof words / sizeof words[0] };
    ck_assert_str_eq(tsim_did_you_mean("tensr", words, N), "tensor");
    ck_assert_str_eq(tsim_did_you_mean("tesnor", words, N), "tensor"); /* a swap is one slip */
    ck_assert_str_eq(tsim_did_you_mean("Pipeline", words, N), "pipeline");
    ck_assert_str_eq(tsim_did_you_mean("dat", words, N), "data");
    ck_assert_ptr_null(tsim_did_you_mean("optimizer", words, N));
    ck_assert_ptr_null(tsim_did_you_mean("x", words, N)); /* one letter, all of it wrong */
    ck_assert_ptr_null(tsim_did_you_mean("", words, N));
    ck_assert_ptr_null(tsim_did_you_mean("tensor", words, 0));
    char long_word[200] = "";
    memset(long_word, 'a', sizeof long_word - 1);
    const char *const odd[] = {"", long_word, "tensors"}; /* nothing is near to nothing, or to too much */
    ck_assert_str_eq(tsim_did_you_mean("tensor", odd, 3), "tensors");
    static const char *const longer[] = {"h200", "h100-pcie", "h100-sxm", "sequence_length"}; /* a beginning */
    ck_assert_str_eq(tsim_did_you_mean("H100", longer, 4), "h100-sxm");
    ck_assert_str_eq(tsim_did_you_mean("sequence", longer, 4), "sequence_length");
    ck_assert_ptr_null(tsim_did_you_mean(long_word, odd, 3));
    static const char *const ids[] = {"llama-7b", "llama2-70b", "llama3-70b"}; /* as near as each other */
    ck_assert_str_eq(tsim_did_you_mean("llama-70b", ids, 3), "llama2-70b");
}

TSIM_TEST(every_dimension_has_an_example) {
    for (int d = 0; d < TSIM_N_DIMENSIONS; d++) {
        char example[64];
        double value = (double)NAN;
        ck_assert_ptr_nonnull(tsim_dimension_name((enum tsim_dimension)d));
        snprintf(example, sizeof example, "%s", tsim_dimension_example((enum tsim_dimension)d));
        char *alternative = strstr(example, " or "); /* "0.25 or 25 %" */
        if (alternative)
            *alternative = '\0';
        ck_assert_msg(parse(example, (enum tsim_dimension)d, false, &value) == TSIM_OK, "%s: %s", example, why);
    }
}

/* "nan" alone does not read back as itself. */
TSIM_TEST(the_shortest_text_of_a_number) {
    char text[32];
    ck_assert_str_eq(tsim_double_text(0.1, text, sizeof text), "0.1");
    ck_assert_str_eq(tsim_double_text(-0.0, text, sizeof text), "0");
    ck_assert_str_eq(tsim_double_text(1e300, text, sizeof text), "1e+300");
    ck_assert_str_eq(tsim_double_text((double)INFINITY, text, sizeof text), "inf");
    ck_assert_ptr_nonnull(strstr(tsim_double_text((double)NAN, text, sizeof text), "nan"));
}

TSIM_MAIN(CHECKS_LIMIT_S, NULL, NULL)
