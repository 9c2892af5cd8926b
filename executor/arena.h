// Memory that buffers of all sizes are cut from and returned to.
#pragma once

#include <cstddef>
#include <map>
#include <memory>
#include <span>
#include <vector>

namespace executor {

/// Best fit among the free pieces; neighbours grow together again. Takes slabs from the system as needed and keeps
/// them. The same sequence of calls gives the same places.
class Arena {
 public:
  static constexpr std::size_t kAlignment = 64;  ///< bytes: a cache line, and the widest vector

  /// What it holds means nothing. Aligned; 0 bytes are allowed.
  std::span<std::byte> take(std::size_t bytes);
  /// Precondition: from take() and not given back yet.
  void give_back(std::span<std::byte> piece);

  std::size_t in_use() const { return in_use_; }
  std::size_t peak() const { return peak_; }          ///< of in_use()
  std::size_t reserved() const { return reserved_; }  ///< slabs

 private:
  void add_slab(std::size_t bytes);
  void insert(std::byte* begin, std::size_t bytes);

  struct Slab {
    std::unique_ptr<std::byte[]> memory;
    std::byte* begin = nullptr;  ///< aligned
  };
  std::vector<Slab> slabs_;
  std::map<std::byte*, std::size_t> free_;               ///< by address
  std::multimap<std::size_t, std::byte*> free_by_size_;  ///< the same
  std::size_t in_use_ = 0, peak_ = 0, reserved_ = 0;
};

}  // namespace executor
