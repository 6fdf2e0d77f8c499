// By MPI. A program of its own (edgesage-mpi), so that the usual one does not load the library.
#define OMPI_SKIP_MPICXX 1
#define MPICH_SKIP_MPICXX 1
#include <mpi.h>

#include "tools/edgesage/ranks.h"

namespace edgesage::cli {
namespace {

class MpiRanks final : public Ranks {
 public:
  MpiRanks() {
    MPI_Init(nullptr, nullptr);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank_);
    MPI_Comm_size(MPI_COMM_WORLD, &size_);
  }
  ~MpiRanks() override { MPI_Finalize(); }
  MpiRanks(const MpiRanks&) = delete;
  MpiRanks& operator=(const MpiRanks&) = delete;

  [[nodiscard]] int rank() const override { return rank_; }
  [[nodiscard]] int size() const override { return size_; }
  void broadcast(std::span<float> values, int owner) override {
    MPI_Bcast(values.data(), static_cast<int>(values.size()), MPI_FLOAT, owner, MPI_COMM_WORLD);
  }
  void broadcast(std::span<double> values, int owner) override {
    MPI_Bcast(values.data(), static_cast<int>(values.size()), MPI_DOUBLE, owner, MPI_COMM_WORLD);
  }

 private:
  int rank_ = 0, size_ = 1;
};

}  // namespace

std::unique_ptr<Ranks> join_ranks() {
  auto ranks = std::make_unique<MpiRanks>();
  if (ranks->size() == 1) return nullptr;
  return ranks;
}

}  // namespace edgesage::cli
