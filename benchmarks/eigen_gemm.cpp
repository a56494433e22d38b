// Times C = A B in fp32 with Eigen, the rows shared among threads. Arguments: size, threads,
// repeats.
#include <Eigen/Dense>

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <thread>
#include <vector>

using Matrix = Eigen::Matrix<float, Eigen::Dynamic, Eigen::Dynamic, Eigen::RowMajor>;

int main(int count, char **arguments) {
  if (count != 4)
    return 2;
  const int size = std::atoi(arguments[1]);
  const int threads = std::atoi(arguments[2]);
  const int repeats = std::atoi(arguments[3]);
  const Matrix a = Matrix::Random(size, size);
  const Matrix b = Matrix::Random(size, size);
  Matrix c(size, size);
  std::vector<double> seconds;
  for (int repeat = 0; repeat <= repeats; ++repeat) {
    const auto begin = std::chrono::steady_clock::now();
    std::vector<std::thread> workers;
    for (int t = 0; t < threads; ++t)
      workers.emplace_back([&, t] {
        const int first = size * t / threads;
        const int rows = size * (t + 1) / threads - first;
        c.middleRows(first, rows).noalias() = a.middleRows(first, rows) * b;
      });
    for (std::thread &worker : workers)
      worker.join();
    const std::chrono::duration<double> took = std::chrono::steady_clock::now() - begin;
    if (repeat > 0) // the first one touches the memory
      seconds.push_back(took.count());
  }
  std::sort(seconds.begin(), seconds.end());
  std::printf("%.9f %f\n", seconds[seconds.size() / 2], static_cast<double>(c(0, 0)));
  return 0;
}
