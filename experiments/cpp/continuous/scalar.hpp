// Numbers that count what is done with them: the recursions take any scalar, and with this one they tell how many
// operations an evaluation costs, so that linear time is seen in the structure and not in a clock.
#pragma once

#include <cmath>

namespace rivals {

struct Counted {
  double value = 0;
  inline static thread_local long operations = 0;

  Counted() = default;
  Counted(double v) : value(v) {}

  friend Counted operator+(Counted a, Counted b) { return one(a.value + b.value); }
  friend Counted operator-(Counted a, Counted b) { return one(a.value - b.value); }
  friend Counted operator*(Counted a, Counted b) { return one(a.value * b.value); }
  friend Counted operator/(Counted a, Counted b) { return one(a.value / b.value); }
  friend Counted operator-(Counted a) { return Counted(-a.value); }
  Counted& operator+=(Counted b) { return *this = *this + b; }
  Counted& operator-=(Counted b) { return *this = *this - b; }
  friend bool operator>(Counted a, Counted b) { return a.value > b.value; }

  static Counted one(double v) {
    ++operations;
    return Counted(v);
  }
};

inline Counted sqrt(Counted a) { return Counted::one(std::sqrt(a.value)); }

}  // namespace rivals
