// A member of a batch: the mechanism, with numbers of its own where members differ.
#pragma once

#include <algorithm>
#include <optional>
#include <vector>

#include "kernel/kernel.hpp"
#include "model/geometry.hpp"

namespace catena {

// Arrays begin with the axis (member), and are null where members do not differ.
struct MemberNumbers {
  const double *mass = nullptr, *inertia = nullptr, *gravity = nullptr;  // (body), (body, 3, 3), (body, 3)
  const double* law = nullptr;                                           // (law, law_size)
  GeometryNumbers geometry = {};                                         // of member 0

  bool has_geometry() const { return geometry.joint_anchor != nullptr; }
  bool any() const { return mass || inertia || gravity || law || has_geometry(); }
};

struct Member {
  Layout layout;
  std::vector<LinkInfo> links;
  std::vector<LawInfo> laws;
  std::vector<double> signals;
  const LinkInfo* described;
  std::optional<Geometry> geometry;

  Member(const Layout& shared, int signal_count)
      : layout(shared),
        links(shared.link, shared.link + shared.link_count),
        laws(shared.law, shared.law + shared.law_count),
        signals(4 * static_cast<std::size_t>(signal_count)),
        described(shared.link) {
    layout.link = links.data();
    layout.law = laws.data();
  }
  Member(Member&&) = default;  // vectors stay where they are
  Member(const Member&) = delete;

  void become(const MemberNumbers& numbers, Offset member) {
    const Offset n = layout.link_count;
    for (Offset i = 0; i < n; ++i) {
      LinkInfo& link = links[i];
      const Offset row = member * n + link.body;
      if (numbers.mass) set_mass(link, numbers.mass[row]);
      for (int e = 0; e < 3 && numbers.gravity; ++e) link.gravity[e] = link.share * numbers.gravity[3 * row + e];
      if (!numbers.inertia) continue;
      const double* J = numbers.inertia + 9 * row;
      const double six[6] = {J[0], J[4], J[8], J[1], J[2], J[5]};
      std::copy(six, six + 6, link.inertia);
      // who sat here before may have been less round
      std::copy_n(described[i].spin, 3, link.spin);
      if (!is_round(six, link.spin)) std::fill_n(link.spin, 3, 0.0);
    }
    for (int l = 0; l < layout.law_count && numbers.law; ++l)
      static_cast<Law&>(laws[l]) = law_of(numbers.law + law_size * (member * layout.law_count + l));
    if (!numbers.has_geometry()) return;
    if (!geometry) geometry.emplace(layout);
    const GeometryNumbers& all = numbers.geometry;
    const Offset joint = member * plain_joint_count(layout), measure = member * measure_count(layout);
    geometry->become(layout, links.data(), laws.data(),
                     {all.joint_anchor + 6 * joint, all.joint_frame + 8 * joint, all.joint_parameter + joint,
                      all.measure_anchor + 6 * measure, all.measure_frame + 8 * measure});
  }
};

// use(layout, first, end) for as many of the members (first ... end) at a time as share a layout
template <class Use>
void each_layout(const Layout& shared, const MemberNumbers& numbers, Offset first, Offset end, Use&& use) {
  if (!numbers.has_geometry()) return use(shared, first, end);
  Member own(shared, 0);
  for (Offset k = first; k < end; ++k) {
    own.become(numbers, k);
    use(own.layout, k, k + 1);
  }
}

}  // namespace catena
