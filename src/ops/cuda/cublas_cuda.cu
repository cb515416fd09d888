/* cublas_cuda.cu - finds cuBLASLt at run time, so that the library can be built and shipped without it. See
 * cublas_cuda.h. */
#include "ops/cuda/cublas_cuda.h"

#include <dlfcn.h>
#include <glob.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "device/cuda_error.h"

#define PATH_BYTES 4096

/* Newest first. */
static const char *const names[] = {"libcublasLt.so.13", "libcublasLt.so.12"};
static const char *const toolkit[] = {"/usr/local/cuda/lib64", "/usr/local/cuda/lib",
                                      "/usr/local/cuda/targets/x86_64-linux/lib",
                                      "/usr/local/cuda/targets/sbsa-linux/lib", "/opt/cuda/lib64"};
static const char *const packages[] = {"nvidia/cu13/lib", "nvidia/cublas/lib"};

/* The first of `names` that loads from the folder. */
static void *open_in(const char *folder)
{
    char path[PATH_BYTES];
    for (const char *name : names) {
        int n = snprintf(path, sizeof path, "%s/%s", folder, name);
        void *library = n > 0 && (size_t)n < sizeof path ? dlopen(path, RTLD_NOW | RTLD_LOCAL) : NULL;
        if (library)
            return library;
    }
    return NULL;
}

/* The folder that holds this library. */
static void *open_beside(void)
{
    Dl_info info;
    char path[PATH_BYTES];
    if (!dladdr((void *)cublas_load, &info) || !info.dli_fname || strlen(info.dli_fname) >= sizeof path)
        return NULL;
    snprintf(path, sizeof path, "%s", info.dli_fname);
    char *slash = strrchr(path, '/');
    if (!slash)
        return NULL;
    *slash = 0;
    return open_in(path);
}

/* The wheels that `pip install torch` brings: <bin>/../lib/python3.x/site-packages/nvidia/... for each <bin>
 * of the PATH with a python3. */
static void *open_in_packages(void)
{
    const char *from = getenv("PATH");
    void *library = NULL;
    while (from && *from && !library) {
        size_t n = strcspn(from, ":");
        char pattern[PATH_BYTES];
        if (n > 0 && n < PATH_BYTES / 2) {
            snprintf(pattern, sizeof pattern, "%.*s/python3", (int)n, from);
            struct stat st;
            for (size_t i = 0;
                 !library && stat(pattern, &st) == 0 && i < sizeof packages / sizeof packages[0]; i++) {
                char wanted[PATH_BYTES];
                snprintf(wanted, sizeof wanted, "%.*s/../lib*/python3*/*-packages/%s", (int)n, from,
                         packages[i]);
                glob_t found;
                if (glob(wanted, 0, NULL, &found) == 0) {
                    for (size_t j = 0; j < found.gl_pathc && !library; j++)
                        library = open_in(found.gl_pathv[j]);
                    globfree(&found);
                }
            }
        }
        from += n + (from[n] == ':');
    }
    return library;
}

/* In this order: where the user says, beside this library, where the loader looks, where toolkits are
 * installed, in Python's packages. */
static void *open_library(Err *err)
{
    const char *given = getenv("MYXTTS_CUBLAS_PATH");
    if (given && *given) {
        struct stat st;
        void *library = stat(given, &st) == 0 && S_ISDIR(st.st_mode) ? open_in(given)
                                                                     : dlopen(given, RTLD_NOW | RTLD_LOCAL);
        if (!library)
            cuda_err(err, ERR_MISSING, "MYXTTS_CUBLAS_PATH is '%s', but no %s can be loaded from there",
                     given, names[0]);
        return library;
    }
    void *library = open_beside();
    for (size_t i = 0; !library && i < sizeof names / sizeof names[0]; i++)
        library = dlopen(names[i], RTLD_NOW | RTLD_LOCAL);
    for (size_t i = 0; !library && i < sizeof toolkit / sizeof toolkit[0]; i++)
        library = open_in(toolkit[i]);
    if (!library)
        library = open_in_packages();
    if (!library)
        cuda_err(err, ERR_MISSING, "training on a GPU needs cuBLAS, and neither %s nor %s was found",
                 names[0], names[1]);
    return library;
}

int cublas_load(Cublas *api, Err *err)
{
    void *library = open_library(err);
    if (!library) {
        if (err)
            snprintf(err->hint, sizeof err->hint,
                     "install it (pip install nvidia-cublas, or the CUDA toolkit) and set MYXTTS_CUBLAS_PATH "
                     "to its folder");
        return ERR_MISSING;
    }
/* Every function that is used, or a sentence about the one that is not there. */
#define X(name) \
    api->name = (decltype(api->name))dlsym(library, #name); \
    if (!api->name) \
        return cuda_err(err, ERR_MISSING, "the cuBLAS that was found has no %s; version 12 or 13 is needed", \
                        #name);
    CUBLAS_FUNCTIONS(X)
#undef X
    return 0;
}
