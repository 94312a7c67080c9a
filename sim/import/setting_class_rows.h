/* setting_class_rows.h - private to import: rows of the lists of classes (setting_class.h). Only the files with such a
 * list include it, because its names have no prefix. */
#pragma once

#include "import/setting_class.h"

#define NOTHING(patterns)                                                                                              \
    { patterns, NULL, false, NULL }
#define SPEED(patterns, what)                                                                                          \
    { patterns, what, false, NULL }
#define REFUSED(patterns, what)                                                                                        \
    { patterns, what, true, NULL }
/* Settings of another program, whose keys stand behind a prefix. */
#define SECTION(prefix, classes)                                                                                       \
    { prefix, NULL, false, classes }

/* The reasons that several programs share. */
#define INFERENCE "this is inference: tsim simulates training"
#define EVALUATION "this evaluates a model: tsim simulates training"
#define IMAGES "this trains a model of images or sound and text: tsim has no model of two kinds of input"
#define TWO_STACKS "this trains an encoder and a decoder, which imports do not take over: see model.encoder_layers"
#define NOT_PACKED                                                                                                     \
    "samples that are not packed; tsim gives each the whole sequence, unless training.lengths gives their lengths"
#define OF_LENGTHS "samples of different lengths; tsim gives each the whole sequence"
#define WITHIN_DOCUMENTS "attention within documents; in tsim it reaches over the whole sequence"
#define IN_WINDOWS "attention in windows; in tsim it reaches over the whole sequence"
#define OTHER_TYPE "one part of the run uses a different data type, which is not modelled"
