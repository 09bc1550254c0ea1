// Whether the CPU has the instructions of the native engine; compiled without them, so that it runs on any CPU.

extern "C" __attribute__((visibility("default"))) int headwise_supported() {
  __builtin_cpu_init();
  return __builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512bw") && __builtin_cpu_supports("avx512dq") &&
         __builtin_cpu_supports("avx512vl") && __builtin_cpu_supports("avx512vnni") && __builtin_cpu_supports("fma");
}
