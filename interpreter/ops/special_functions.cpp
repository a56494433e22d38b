// Special functions that the C library does not have, in double.
#include "interpreter/ops/special_functions.h"

#include <cmath>
#include <limits>

namespace blockscope::interpreter::special {
namespace {

constexpr double kPi = 3.14159265358979323846;
constexpr double kSqrt2 = 1.41421356237309504880;
constexpr double kTwoOverSqrtPi = 1.12837916709551257390;
constexpr double kInfinity = std::numeric_limits<double>::infinity();
constexpr double kNan = std::numeric_limits<double>::quiet_NaN();

/// sin(pi (r + turns / 2)) for |r| <= 1/4.
double sineOfTurn(double r, int turns) {
  switch (turns & 3) {
  case 0:
    return std::sin(kPi * r);
  case 1:
    return std::cos(kPi * r);
  case 2:
    return -std::sin(kPi * r);
  default:
    return -std::cos(kPi * r);
  }
}

double sineOfHalfTurns(double x, int shift) {
  if (!std::isfinite(x))
    return kNan;
  const double cut = std::fmod(x, 2.0); // exact
  const double quarter = std::nearbyint(2 * cut);
  return sineOfTurn(cut - quarter / 2, static_cast<int>(quarter) + shift + 4);
}

/// A first guess at the inverse of erf for the tail 1 - |erf| = q; Winitzki, "A handy approximation
/// for the error function and its inverse" (2008).
double erfinvGuess(double q) {
  const double logTerm = std::log(q * (2 - q));
  const double a = 0.147, t = 2 / (kPi * a) + logTerm / 2;
  return std::sqrt(std::sqrt(t * t - logTerm / a) - t);
}

/// Solves erfc(x) = q for 0 < q <= 1 by Halley's steps on log scale-free residuals.
double inverseTail(double q) {
  double x = erfinvGuess(q);
  for (int step = 0; step < 4; ++step) {
    // erfc(x) - q over its derivative -2/sqrt(pi) e^(-x^2), written with erfcx: no underflow.
    const double scaled = erfcx(x) - q * std::exp(x * x);
    const double newton = scaled / kTwoOverSqrtPi;
    x += newton / (1 - x * newton);
  }
  return x;
}

} // namespace

double sinpi(double x) { return x == 0 ? x : sineOfHalfTurns(x, 0); }
double cospi(double x) { return sineOfHalfTurns(x, 1); }

double erfcx(double x) {
  if (x < 25) {
    // erfc is accurate in relative terms; x^2 is split so that its rounding does not grow.
    const double high = static_cast<float>(x), low = x - high;
    return std::exp(high * high) * std::exp(low * (x + high)) * std::erfc(x);
  }
  if (std::isnan(x))
    return x;
  const double y = 1 / (2 * x * x); // asymptotic series
  return kTwoOverSqrtPi / 2 / x * (1 - y * (1 - 3 * y * (1 - 5 * y * (1 - 7 * y))));
}

double erfinv(double x) {
  const double magnitude = std::fabs(x);
  if (!(magnitude <= 1))
    return kNan;
  if (magnitude == 1)
    return std::copysign(kInfinity, x);
  if (magnitude < 1e-8)
    return x / kTwoOverSqrtPi;
  if (magnitude > 0.5)
    return std::copysign(inverseTail(1 - magnitude), x);
  double y = erfinvGuess(1 - magnitude);
  for (int step = 0; step < 4; ++step) {
    const double newton = (std::erf(y) - magnitude) * std::exp(y * y) / kTwoOverSqrtPi;
    y -= newton / (1 + y * newton);
  }
  return std::copysign(y, x);
}

double erfcinv(double x) {
  if (!(x >= 0 && x <= 2))
    return kNan;
  if (x == 0 || x == 2)
    return x == 0 ? kInfinity : -kInfinity;
  if (x < 0.5)
    return inverseTail(x);
  return x > 1.5 ? -inverseTail(2 - x) : erfinv(1 - x);
}

double normcdf(double x) { return 0.5 * std::erfc(-x / kSqrt2); }
double normcdfinv(double x) { return -kSqrt2 * erfcinv(2 * x); }

namespace {

/// I_n by its power series for small x, by the asymptotic series for large x.
double besselI(int order, double x) {
  const double magnitude = std::fabs(x);
  if (std::isnan(x))
    return x;
  if (magnitude < 30) {
    const double quarter = magnitude * magnitude / 4;
    double term = order == 0 ? 1 : magnitude / 2, sum = term;
    for (int k = 1; k < 200 && term > sum * 1e-17; ++k) {
      term *= quarter / (k * (k + order));
      sum += term;
    }
    return sum;
  }
  if (std::isinf(magnitude))
    return kInfinity;
  double term = 1, sum = 1;
  for (int k = 1; k < 30; ++k) {
    const double next =
        -term * (4.0 * order * order - (2.0 * k - 1) * (2.0 * k - 1)) / (k * 8.0 * magnitude);
    if (std::fabs(next) >= std::fabs(term) || std::fabs(next) < 1e-17)
      break;
    sum += term = next;
  }
  const double half = std::exp(magnitude / 2);
  return half * (half / std::sqrt(2 * kPi * magnitude) * sum);
}

} // namespace

double besselI0(double x) { return besselI(0, x); }
double besselI1(double x) { return std::copysign(besselI(1, x), x); }

} // namespace blockscope::interpreter::special
