#include "scenarios/accuracy/each_row.h"

#include <algorithm>
#include <atomic>
#include <exception>
#include <mutex>
#include <thread>
#include <vector>

namespace scenarios {

void for_each_row(std::size_t rows, const std::function<void(std::size_t row)>& predict) {
  std::atomic<std::size_t> next{0};
  std::mutex failing;
  std::size_t failed = rows;
  std::exception_ptr failure;
  const auto work = [&] {
    for (std::size_t row = next++; row < rows; row = next++) {
      try {
        predict(row);
      } catch (...) {
        const std::scoped_lock lock(failing);
        if (row > failed) continue;
        failed = row;
        failure = std::current_exception();
      }
    }
  };
  const std::size_t cores = std::max(1U, std::thread::hardware_concurrency());
  std::vector<std::jthread> others;
  for (std::size_t i = 1; i < std::min(cores, rows); ++i) others.emplace_back(work);
  work();
  others.clear();  // joins
  if (failure) std::rethrow_exception(failure);
}

}  // namespace scenarios
