// A thread pool that runs one parallel loop after another, with work stealing.
//
// Each thread has a share of the pieces, neighbours in order, so that it reads memory sequentially; a thread that has
// finished its share helps the others. A loop is done when all pieces are, whichever thread did them: a thread that is
// late, asleep or without a core delays the others only while it is inside a piece. So the engine stays fast on busy
// machines.
#pragma once

#if defined(_WIN32)
#include <process.h>
#else
#include <unistd.h>
#endif
#if defined(__x86_64__) || defined(_M_X64)
#include <immintrin.h>
#endif

#include <algorithm>
#include <atomic>
#include <condition_variable>
#include <cstdint>
#include <mutex>
#include <thread>
#include <vector>

namespace headwise {

// Numbers this process; a forked child has another number.
inline int process_number() {
#if defined(_WIN32)
  return _getpid();
#else
  return int(getpid());
#endif
}

// Lets the other hardware thread of this core work, for a moment.
inline void pause_core() {
#if defined(__x86_64__) || defined(_M_X64)
  _mm_pause();
#elif defined(__aarch64__) && defined(__GNUC__)
  __asm__ volatile("yield");
#endif
}

class Threads {
 public:
  explicit Threads(int count) : count_(count), owner_(process_number()), shares_(count) {
    for (int index = 1; index < count; index++) {
      workers_.emplace_back([this, index] { work(index); });
    }
  }

  ~Threads() {
    {
      std::lock_guard<std::mutex> guard(mutex_);
      stopping_.store(true);
    }
    wake_.notify_all();
    for (std::thread& worker : workers_) {
      worker.join();
    }
  }

  int count() const { return count_; }

  // False in a forked child: the worker threads exist in the parent only.
  bool belong_to_this_process() const { return owner_ == process_number(); }

  // Calls body(begin, end, thread) for ranges that make up [0, total), and returns when all calls have returned.
  // The result of a range must not depend on the thread, or on how the ranges are cut.
  template <class Body>
  void for_ranges(int total, Body&& body) {
    const int pieces = std::min(total, count_ * kPiecesPerThread);
    if (count_ == 1 || pieces <= 1) {
      if (total > 0) {
        body(0, total, 0);
      }
      return;
    }
    auto piece = [&](int index, int thread) {
      const int begin = static_cast<int>(int64_t{total} * index / pieces);
      const int end = static_cast<int>(int64_t{total} * (index + 1) / pieces);
      body(begin, end, thread);
    };
    using Piece = decltype(piece);
    task_ = &piece;
    call_ = [](void* task, int index, int thread) { (*static_cast<Piece*>(task))(index, thread); };
    done_.store(0, std::memory_order_relaxed);
    for (int thread = 0; thread < count_; thread++) {
      const int first = pieces * thread / count_;
      shares_[thread].end = pieces * (thread + 1) / count_;
      shares_[thread].open.store(shares_[thread].end - first, std::memory_order_seq_cst);
    }
    if (sleeping_.load(std::memory_order_seq_cst) > 0) {
      std::lock_guard<std::mutex> guard(mutex_);
      wake_.notify_all();
    }
    take_pieces(0);
    for (int waited = 0; done_.load(std::memory_order_acquire) != pieces; waited++) {
      pause_or_yield(waited);
    }
  }

 private:
  static constexpr int kPiecesPerThread = 8;
  static constexpr int kPausesBeforeYield = 2000;
  static constexpr int kWaitsBeforeSleep = 4000;  // some tenths of a millisecond: longer than the gap between two steps

  static void pause_or_yield(int waited) {
    if (waited < kPausesBeforeYield) {
      pause_core();
    } else {
      std::this_thread::yield();
    }
  }

  // The pieces that no thread has begun are the last `open` ones before `end`.
  struct alignas(64) Share {
    std::atomic<int> open{0};
    int end = 0;
  };

  void take_pieces(int thread) {
    for (int other = 0; other < count_; other++) {
      Share& share = shares_[(thread + other) % count_];
      // The thread that lowers `open` owns a piece. The task cannot change until that piece is done.
      int open = share.open.load(std::memory_order_acquire);
      while (open > 0) {
        if (share.open.compare_exchange_weak(open, open - 1, std::memory_order_acq_rel)) {
          call_(task_, share.end - open, thread);
          done_.fetch_add(1, std::memory_order_acq_rel);
          open = share.open.load(std::memory_order_acquire);
        }
      }
    }
  }

  void work(int thread) {
    int waited = 0;
    while (!stopping_.load(std::memory_order_relaxed)) {
      if (shares_[thread].open.load(std::memory_order_acquire) > 0) {
        take_pieces(thread);
        waited = 0;
      } else if (waited < kWaitsBeforeSleep) {
        pause_or_yield(waited++);
      } else {
        sleep(thread);
        waited = 0;
      }
    }
  }

  void sleep(int thread) {
    std::unique_lock<std::mutex> lock(mutex_);
    sleeping_.fetch_add(1, std::memory_order_seq_cst);
    const std::atomic<int>& open = shares_[thread].open;
    wake_.wait(lock, [&] { return stopping_.load() || open.load(std::memory_order_seq_cst) > 0; });
    sleeping_.fetch_sub(1, std::memory_order_seq_cst);
  }

  const int count_;
  const int owner_;
  void* task_ = nullptr;
  void (*call_)(void*, int, int) = nullptr;
  // Variables that one thread writes and others wait for have cache lines of their own.
  std::vector<Share> shares_;
  alignas(64) std::atomic<int> done_{0};
  alignas(64) std::atomic<int> sleeping_{0};
  std::atomic<bool> stopping_{false};
  std::mutex mutex_;
  std::condition_variable wake_;
  std::vector<std::thread> workers_;
};

}  // namespace headwise
