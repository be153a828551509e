// Structs that Python makes by naming every field: a field is listed once, with its name, and its shape is checked.
#pragma once

#include <optional>
#include <type_traits>
#include <utility>

#include "python/checks.hpp"

namespace catena {

template <class T>
void require_own_shape(const T&, const char*) {}
template <class T, int... lengths>
void require_own_shape(const Array<T, lengths...>& array, const char* what) {
  require_shape(array, {lengths...}, what);
}
template <class T, int... lengths>
void require_own_shape(const std::optional<Array<T, lengths...>>& array, const char* what) {
  if (array) require_shape(*array, {lengths...}, what);
}

// of type G as Python gives it
template <class G, class Struct, class Member>
struct Field {
  using Given = G;
  const char* name;
  Member Struct::* place;

  void fill(Struct& made, const Given& given) const {
    require_own_shape(given, name);
    if constexpr (std::is_same_v<Given, Member>)
      made.*place = given;
    else
      (made.*place).assign(given.data(), given.data() + given.size());
  }
};
template <class Struct, class Member>
Field<Member, Struct, Member> field(const char* name, Member Struct::* place) {
  return {name, place};
}
// an array that is copied into a vector
template <class Given, class Struct, class Member>
Field<Given, Struct, Member> copied(const char* name, Member Struct::* place) {
  return {name, place};
}

template <class F>
auto argument(const F& field) {
  if constexpr (std::is_constructible_v<typename F::Given, std::nullopt_t>)
    return nb::arg(field.name).none();
  else
    return nb::arg(field.name);
}

// a constructor of Class, which is made of a Struct, by keywords
template <class Struct, class Class, class... Fields>
void bind_constructor(nb::class_<Class>& bound, Fields... fields) {
  bound.def(
      "__init__",
      [fields...](Class* self, const typename Fields::Given&... given) {
        Struct made{};
        (fields.fill(made, given), ...);
        new (self) Class(std::move(made));
      },
      nb::kw_only(), argument(fields)...);
}

template <class Struct, class... Fields>
void bind_struct(nb::module_& m, const char* name, const char* doc, Fields... fields) {
  nb::class_<Struct> bound(m, name, doc);
  bind_constructor<Struct>(bound, fields...);
}

}  // namespace catena
