#pragma once
#define TSIM_VERSION "1.0.0"
