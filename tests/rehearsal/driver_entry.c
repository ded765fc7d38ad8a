/* The entry points of the driver by name, which torch's allocator asks for to word an out-of-memory
   error, and which the doubles lack. */
#define _GNU_SOURCE
#include <dlfcn.h>

static int not_supported(void) { return 801; }

int cudaGetDriverEntryPointByVersion(const char *name, void **function, unsigned version,
                                     unsigned long long flags, int *status) {
  void *found = dlsym(RTLD_DEFAULT, name);
  (void)version, (void)flags;
  *function = found ? found : (void *)not_supported;
  if (status) *status = 0;
  return 0;
}
