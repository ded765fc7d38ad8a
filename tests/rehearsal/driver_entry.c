/* Entry points that the doubles lack, and faults on demand: those of the driver by name, which torch's
   allocator asks for to word an out-of-memory error, and what NCCL's watchdog sees on rank 1. */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>

static int not_supported(void) { return 801; }

int cudaGetDriverEntryPointByVersion(const char *name, void **function, unsigned version,
                                     unsigned long long flags, int *status) {
  void *found = dlsym(RTLD_DEFAULT, name);
  (void)version, (void)flags;
  *function = found ? found : (void *)not_supported;
  if (status) *status = 0;
  return 0;
}

/* The code in a variable of the environment, where the watchdog of rank 1 asks; else 0, success. */
static int fault(const char *variable) {
  const char *code = getenv(variable), *rank = getenv("RANK");
  char thread[16] = "";
  prctl(PR_GET_NAME, thread);
  return code && rank && !strcmp(rank, "1") && !strcmp(thread, "pt_nccl_watchdg") ? atoi(code) : 0;
}

int ncclCommGetAsyncError(void *communicator, int *code) {
  (void)communicator;
  *code = fault("WATCHDOG_NCCL_ERROR");
  return 0;
}

int cudaEventQuery(void *event) {
  static int (*query)(void *);
  int code = fault("WATCHDOG_CUDA_ERROR");
  if (code) return code;
  if (!query) query = (int (*)(void *))dlsym(RTLD_NEXT, "cudaEventQuery");
  return query(event);
}

const char *cudaGetErrorString(int code) {
  static const char *(*words)(int);
  if (code == 214) return "uncorrectable ECC error encountered";
  if (code == 700) return "an illegal memory access was encountered";
  if (!words) words = (const char *(*)(int))dlsym(RTLD_NEXT, "cudaGetErrorString");
  return words(code);
}

/* Devices from DOUBLES_V100_FROM on have another name, which is the first of the properties. */
int cudaGetDeviceProperties(char *properties, int device) {
  int (*all)(char *, int) = dlsym(RTLD_NEXT, "cudaGetDeviceProperties");
  const char *first = getenv("DOUBLES_V100_FROM");
  int status = all(properties, device);
  if (!status && first && device >= atoi(first)) strcpy(properties, "Rehearsal V100");
  return status;
}
