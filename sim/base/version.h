#ifndef TSIM_BASE_VERSION_H
#define TSIM_BASE_VERSION_H
#define TSIM_VERSION "1.0.0"
#endif
