#ifndef TSIM_BASE_VERSION_H
#define TSIM_BASE_VERSION_H
#define TSIM_VERSION "0.1.0"
#endif
