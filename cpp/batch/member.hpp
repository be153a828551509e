// A member of a batch: the mechanism, with numbers of its own where members differ.
#pragma once

#include <algorithm>
#include <vector>

#include "kernel/kernel.hpp"

namespace catena {

// Arrays begin with the axis (member), and are null where members do not differ.
struct MemberNumbers {
  const double *mass = nullptr, *inertia = nullptr, *gravity = nullptr;  // (body), (body, 3, 3), (body, 3)
  const double* law = nullptr;                                           // (law, law_size)

  bool any() const { return mass || inertia || gravity || law; }
};

struct Member {
  Layout layout;
  std::vector<LinkInfo> links;
  std::vector<LawInfo> laws;
  std::vector<double> signals;

  Member(const Layout& shared, int signal_count)
      : layout(shared),
        links(shared.link, shared.link + shared.link_count),
        laws(shared.law, shared.law + shared.law_count),
        signals(4 * static_cast<std::size_t>(signal_count)) {
    layout.link = links.data();
    layout.law = laws.data();
  }
  Member(Member&&) = default;  // vectors stay where they are
  Member(const Member&) = delete;

  void become(const MemberNumbers& numbers, Offset member) {
    const Offset n = layout.link_count;
    for (LinkInfo& link : links) {
      const Offset row = member * n + link.body;
      if (numbers.mass) set_mass(link, numbers.mass[row]);
      for (int e = 0; e < 3 && numbers.gravity; ++e) link.gravity[e] = link.share * numbers.gravity[3 * row + e];
      if (!numbers.inertia) continue;
      const double* J = numbers.inertia + 9 * row;
      const double six[6] = {J[0], J[4], J[8], J[1], J[2], J[5]};
      std::copy(six, six + 6, link.inertia);
      if (!is_round(six, link.spin)) std::fill_n(link.spin, 3, 0.0);
    }
    for (int l = 0; l < layout.law_count && numbers.law; ++l)
      static_cast<Law&>(laws[l]) = law_of(numbers.law + law_size * (member * layout.law_count + l));
  }
};

}  // namespace catena
