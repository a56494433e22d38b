// Special functions that the C library does not have, in double.
//
// Errors are a few units in the last place of double unless said otherwise: far below fp32.
#pragma once

namespace blockscope::interpreter::special {

double sinpi(double x);
double cospi(double x);
/// e^(x^2) * erfc(x) without overflow or cancellation.
double erfcx(double x);
double erfinv(double x);
double erfcinv(double x);
/// The normal distribution and its inverse.
double normcdf(double x);
double normcdfinv(double x);
/// Modified Bessel functions of the first kind.
double besselI0(double x);
double besselI1(double x);

} // namespace blockscope::interpreter::special
