/* profile_database.h - reads a profile (study/judge/profile.h) from a SQLite database. It may be what `nsys export
 * --type sqlite` writes of a report of Nsight Systems (tables CUPTI_ACTIVITY_KIND_KERNEL, _MEMCPY, _MEMSET and
 * StringIds; NVTX ranges whose text begins with ProfilerStep#, step or iteration are steps), rocprofv3's default format
 * rocpd (rocpd_kernel_dispatch_ID, rocpd_info_kernel_symbol_ID, rocpd_memory_copy_ID), or that of AMD's rocmProfileData
 * (rocpd_op, rocpd_string). */
#pragma once

#include "study/judge/profile.h"

/* Returns whether the file begins as a database does. */
bool tsim_profile_is_database(const char *file);

/* Reads a profile from a database. Returns TSIM_ERR_DB if there is no such database, and TSIM_ERR_SCHEMA if it has no
 * kernel. */
enum tsim_status tsim_profile_read_database(struct tsim_arena *arena, const char *file, struct tsim_profile *profile,
                                            struct tsim_diags *diags);
