/* profile_nsys.h - a profile (study/judge/profile.h) out of the SQLite database that `nsys export --type sqlite` writes of a
 * report of Nsight Systems: tables CUPTI_ACTIVITY_KIND_KERNEL, _MEMCPY, _MEMSET and StringIds; NVTX ranges whose text
 * begins with ProfilerStep#, step or iteration are steps. */
#ifndef TSIM_STUDY_PROFILE_NSYS_H
#define TSIM_STUDY_PROFILE_NSYS_H

#include "study/judge/profile.h"

/* Does the file begin as a database does? */
bool tsim_profile_is_nsys(const char *file);

/* TSIM_ERR_DB: no such database; TSIM_ERR_SCHEMA: no kernel in it. */
enum tsim_status tsim_profile_read_nsys(struct tsim_arena *arena, const char *file, struct tsim_profile *profile,
                                        struct tsim_diags *diags);

#endif
