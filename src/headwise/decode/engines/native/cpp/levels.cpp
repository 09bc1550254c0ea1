// Which levels there are on this kind of CPU, and which of them run here.
#include "levels.h"

#if defined(__x86_64__) || defined(_M_X64)
#define HEADWISE_X86 1
#if defined(_MSC_VER)
#include <intrin.h>
#else
#include <cpuid.h>
#endif
#if defined(__linux__)
#include <sys/syscall.h>
#include <unistd.h>
#endif
#elif defined(__aarch64__) || defined(_M_ARM64)
#define HEADWISE_ARM 1
#if defined(__linux__)
#include <sys/auxv.h>
#elif defined(__APPLE__)
#include <sys/sysctl.h>
#elif defined(_WIN32)
#include <windows.h>
#endif
#endif

namespace headwise {

const Kernels* portable_kernels();

namespace {

bool always() { return true; }

#if defined(HEADWISE_X86)

struct Registers {
  uint32_t eax, ebx, ecx, edx;
};

// All zero for a leaf that the CPU does not have.
Registers cpuid(uint32_t leaf, uint32_t subleaf) {
  Registers found{};
#if defined(_MSC_VER)
  int values[4];
  __cpuid(values, 0);
  if (uint32_t(values[0]) >= leaf) {
    __cpuidex(values, int(leaf), int(subleaf));
    found = {uint32_t(values[0]), uint32_t(values[1]), uint32_t(values[2]), uint32_t(values[3])};
  }
#else
  if (!__get_cpuid_count(leaf, subleaf, &found.eax, &found.ebx, &found.ecx, &found.edx)) {
    found = {};
  }
#endif
  return found;
}

// Whether the operating system saves these registers: bits of XCR0.
bool saves(uint32_t registers) {
  constexpr uint32_t kXsave = 1u << 27;
  if (!(cpuid(1, 0).ecx & kXsave)) {
    return false;
  }
#if defined(_MSC_VER)
  const uint32_t saved = uint32_t(_xgetbv(0));
#else
  uint32_t saved, high;
  __asm__ volatile("xgetbv" : "=a"(saved), "=d"(high) : "c"(0));
#endif
  return (saved & registers) == registers;
}

bool has(uint32_t value, uint32_t bits) { return (value & bits) == bits; }

constexpr uint32_t kVectors256 = 0x06;  // XMM and YMM
constexpr uint32_t kVectors512 = 0xe6;  // ... and the masks and both parts of ZMM

bool runs_avx2() {
  const uint32_t fma = 1u << 12, avx = 1u << 28, f16c = 1u << 29, avx2 = 1u << 5;
  return has(cpuid(1, 0).ecx, fma | avx | f16c) && has(cpuid(7, 0).ebx, avx2) && saves(kVectors256);
}

bool runs_avx512vnni() {
  const uint32_t f = 1u << 16, dq = 1u << 17, bw = 1u << 30, vl = 1u << 31, vnni = 1u << 11;
  return runs_avx2() && has(cpuid(7, 0).ebx, f | dq | bw | vl) && has(cpuid(7, 0).ecx, vnni) && saves(kVectors512);
}

// Linux hands the tiles to a process that asks for them; elsewhere they are not used.
bool runs_amx() {
#if defined(__linux__) && defined(SYS_arch_prctl)
  constexpr uint32_t kTiles = 0x60000;                            // their configuration and their data
  constexpr long kRequestPermission = 0x1023, kTileData = 18;     // as in <asm/prctl.h>, whose older versions lack it
  const uint32_t tile = 1u << 24, int8 = 1u << 25;
  return runs_avx512vnni() && has(cpuid(7, 0).edx, tile | int8) && saves(kTiles) &&
         syscall(SYS_arch_prctl, kRequestPermission, kTileData) == 0;
#else
  return false;
#endif
}

bool runs_avxvnni() {
#if defined(HEADWISE_EMULATE_AVXVNNI)  // for tests on CPUs with AVX-512, see avxvnni.cpp
  return runs_avx512vnni();
#else
  const uint32_t avxvnni = 1u << 4;
  return runs_avx2() && cpuid(7, 0).eax >= 1 && has(cpuid(7, 1).eax, avxvnni);
#endif
}

#elif defined(HEADWISE_ARM)

#if defined(__linux__)
// As in <asm/hwcap.h>, whose older versions lack some.
bool runs_dotprod() { return getauxval(AT_HWCAP) & (1ul << 20); }
bool runs_i8mm() { return runs_dotprod() && (getauxval(AT_HWCAP2) & (1ul << 13)); }
#elif defined(__APPLE__)
bool reported(const char* name) {
  int value = 0;
  size_t size = sizeof value;
  return sysctlbyname(name, &value, &size, nullptr, 0) == 0 && value != 0;
}
bool runs_dotprod() { return reported("hw.optional.arm.FEAT_DotProd"); }
bool runs_i8mm() { return runs_dotprod() && reported("hw.optional.arm.FEAT_I8MM"); }
#elif defined(_WIN32)
bool runs_dotprod() { return IsProcessorFeaturePresent(43); }  // PF_ARM_V82_DP_INSTRUCTIONS_AVAILABLE
bool runs_i8mm() { return false; }  // older systems cannot tell
#else
bool runs_dotprod() { return false; }
bool runs_i8mm() { return false; }
#endif

#endif

}  // namespace

// Levels that the compiler knew the instructions of; compile.py defines which.
const Kernels* amx_kernels();
const Kernels* avx512vnni_kernels();
const Kernels* avxvnni_kernels();
const Kernels* avx2_kernels();
const Kernels* neon_i8mm_kernels();
const Kernels* neon_dotprod_kernels();
const Level kLevels[] = {
#if defined(HEADWISE_HAS_AMX) && defined(HEADWISE_HAS_AVX512VNNI)
    {"amx", amx_kernels, runs_amx},
#endif
#if defined(HEADWISE_HAS_AVX512VNNI)
    {"avx512vnni", avx512vnni_kernels, runs_avx512vnni},
#endif
#if defined(HEADWISE_HAS_AVXVNNI)
    {"avxvnni", avxvnni_kernels, runs_avxvnni},
#endif
#if defined(HEADWISE_HAS_AVX2)
    {"avx2", avx2_kernels, runs_avx2},
#endif
#if defined(HEADWISE_HAS_NEON_I8MM)
    {"neon-i8mm", neon_i8mm_kernels, runs_i8mm},
#endif
#if defined(HEADWISE_HAS_NEON_DOTPROD)
    {"neon-dotprod", neon_dotprod_kernels, runs_dotprod},
#endif
    {"portable", portable_kernels, always},
};

const int kLevelCount = int(sizeof kLevels / sizeof kLevels[0]);

const Kernels* kernels_of(int level) {
  if (level < 0 || level >= kLevelCount || !kLevels[level].runs()) {
    return nullptr;
  }
  return kLevels[level].kernels();
}

}  // namespace headwise
