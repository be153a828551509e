// The smallest reactions that explain a motion.
//
// Where loops say the same thing twice, what their joints share is not unique: to multipliers lambda a self-stress can
// be added, one that exerts nothing on any body. Of all these the smallest are wanted, torques being divided by the
// mechanism's size to have one unit.
//
// A self-stress is known by the part mu of it in the joints and couplings that close loops. The tree joint that carries
// a link has to hold against what they pull at all links beyond it, the wrench P mu, by its rows u_k, which are
// orthogonal, and can do so if nothing of it is along its freedoms s, which are what is orthogonal to the rows:
//
//     (B mu)_k = - u_k . P mu / u_k^2,      F mu = 0,  with a row s . P for every freedom of every joint.
//
// With lambda_c of the closing joints and lambda_t of the tree, |lambda_c + mu|^2 + |lambda_t + B mu|^2 is to be small:
//
//     K = 1 + B^T B = L L^T,   g = lambda_c + B^T lambda_t,   L^T mu = - (1 - Q^T Q) L^-1 g,
//
// Q being an orthonormal basis of the rows of F L^-T. It is made by Gram and Schmidt's way, the largest row first,
// until what is left is rounding: so the rank is that of the pose, singular ones included. K is as well conditioned as
// the loop is short, and F is not squared, so that a pose may be nearly singular too.
//
// For loops that share no joint these are separate problems (model/groups.hpp), and for one loop B and F have as many
// rows as it has links but no more columns than six: all this takes a time that is linear in them.
#pragma once

#include "model/groups.hpp"
#include "physics/rows/constraint.hpp"
#include "solve/loops/regularised_inverse.hpp"

namespace catena::CATENA_ISA {

// rows of loops that are dependent are so to rounding, in parts of the largest; anything above that is a real direction
constexpr double dependent = 1e-9;

// sum of products; both padded to whole blocks
CATENA_INLINE double product_of(const double* a, const double* b, Offset size) {
  Block sum = {};
  for (Offset w = 0; w < size; w += block_size) sum += block(a + w) * block(b + w);
  return (sum[0] + sum[1]) + (sum[2] + sum[3]);
}
CATENA_INLINE void subtract(double* a, double factor, const double* b, Offset size) {
  for (Offset w = 0; w < size; w += block_size) block(a + w) -= factor * block(b + w);
}

// The rows that hold a link and the freedoms they leave, as one orthonormal basis of wrenches at the joint's point.
struct Hold {
  Vec3<double> point;
  Wrench<double> along[6];  // the rows first
  double share[6];          // the multiplier of the row that holds against a unit of it

  // from the axes that are furthest from those that are there
  CATENA_INLINE void complete(int held) {
    double u[6][6];
    for (int k = 0; k < held; ++k) {
      store3(u[k], along[k].f);
      store3(u[k] + 3, along[k].t);
    }
    for (int k = held; k < 6; ++k) {
      double least = 2;
      int axis = 0;
      for (int j = 0; j < 6; ++j) {
        double square = 0;
        for (int b = 0; b < k; ++b) square += u[b][j] * u[b][j];
        if (square >= least) continue;
        least = square;
        axis = j;
      }
      double *v = u[k], square = 0;
      for (int j = 0; j < 6; ++j) v[j] = j == axis;
      // twice is enough
      for (int pass = 0; pass < 2; ++pass)
        for (int b = 0; b < k; ++b) {
          double common = 0;
          for (int j = 0; j < 6; ++j) common += v[j] * u[b][j];
          for (int j = 0; j < 6; ++j) v[j] -= common * u[b][j];
        }
      for (int j = 0; j < 6; ++j) square += v[j] * v[j];
      const double unit = 1 / std::sqrt(square);
      for (int j = 0; j < 6; ++j) v[j] *= unit;
      along[k] = {load3(v), load3(v + 3)};
    }
  }
};

struct Stress {
  const Layout& layout;
  const LoopGroups& groups;

  Body<double>* body;
  Wrench<double>* pull;      // of closing rows on their ends, about the group's centre
  double* share;             // B, link by link
  double *metric, *inverse;  // L without its diagonal, and the inverse of that
  double* mu;                // g, and then all that becomes of it
  double* freedom;           // F, and then F L^-T
  double** row;              // its rows, those that have become Q first

  Clock clock{};
  double size = 1;                // m, by which torques are divided
  const double* scale = nullptr;  // (row) of multipliers: one, or one over the size

  void place(const double* position, const double* orientation) {
    for (int i = 0; i < layout.link_count; ++i) {
      const int k = layout.link[i].body;
      body[i].x = load3(position + 3 * k);
      body[i].R = matrix(load_quat(orientation + 4 * k));
    }
  }

  // takes the self-stress out of the multipliers of a group's joints; false if there can be none
  bool relieve(const LoopGroup& group, double* lambda) {
    const int rows = group.row_count;
    const Offset width = padded(rows);
    const Vec3<double> centre = body[groups.link[group.first_link].link].x;
    for (Offset k = 0; k < rows * width; ++k) metric[k] = 0;
    for (Offset k = 0; k < group.freedom_count * width; ++k) freedom[k] = 0;
    for (Offset k = 0; k < width; ++k) mu[k] = 0;
    // squared; rows of tree joints are of order one
    double largest = 1;
    for (int l = group.first_loop; l < group.end_loop; ++l) {
      const GroupLoop& loop = groups.loop[l];
      const ConstraintInfo& c = layout.constraint[loop.constraint];
      largest = std::fmax(largest, find_pulls(c, centre, pull + loop.first_pull));
      for (int k = 0; k < c.row_count; ++k) {
        mu[loop.row + k] = lambda[c.recorded + k] * scale[c.recorded + k];
        metric[(loop.row + k) * (width + 1)] = 1;
      }
    }
    double* to = freedom;
    for (int i = group.first_link; i < group.end_link; ++i) {
      add_link(groups.link[i], centre, lambda, width, to);
      to += (6 - groups.link[i].held) * width;
    }
    factorise(rows, width);
    for (int k = 0; k < group.freedom_count; ++k) solve_lower(row[k] = freedom + k * width, rows, width);
    const int rank = find_basis(group.freedom_count, rows, width, dependent * dependent * largest);
    if (rank == rows) return false;
    solve_lower(mu, rows, width);
    for (int pass = 0; pass < 2; ++pass)
      for (int k = 0; k < rank; ++k) subtract(mu, product_of(mu, row[k], width), row[k], width);
    solve_upper(mu, rows, width);
    for (int l = group.first_loop; l < group.end_loop; ++l) {
      const GroupLoop& loop = groups.loop[l];
      const ConstraintInfo& c = layout.constraint[loop.constraint];
      for (int k = 0; k < c.row_count; ++k) lambda[c.recorded + k] -= mu[loop.row + k] / scale[c.recorded + k];
    }
    for (int i = group.first_link; i < group.end_link; ++i) relieve_link(groups.link[i], lambda);
    return true;
  }

 private:
  // the largest of them, squared
  double find_pulls(const ConstraintInfo& c, Vec3<double> centre, Wrench<double>* out) const {
    double largest = 0;
    JointRows rows;
    // turns make no difference to directions
    for (double& angle : rows.angle) angle = 0;
    rows_before({layout, c, body, clock}, rows);
    for (int e = 0; e < c.end_count; ++e) {
      if (c.end[e] < 0) continue;
      const Vec3<double> arm = body[c.end[e]].x - centre;
      for (int k = 0; k < c.row_count; ++k) {
        const Wrench<double>& w = rows.w[e * c.row_count + k];
        const double unit = 1 / scale[c.recorded + k];
        const Wrench<double> pulled = {unit * w.f, (unit / size) * (w.t + cross(arm, w.f))};
        largest = std::fmax(largest, norm2(pulled.f) + norm2(pulled.t));
        out[e * c.row_count + k] = pulled;
      }
    }
    return largest;
  }

  Hold hold_of(const GroupLink& link) const {
    Hold hold;
    hold.point = body[link.link].x;
    if (link.held > 0) {
      const ConstraintInfo& c = layout.constraint[link.constraint];
      JointRows rows;
      joint_rows(c, old_pose(body, c.end[0]), old_pose(body, c.end[1]), 0, rows);
      hold.point = rows.point;
      for (int k = 0; k < link.held; ++k) {
        const Vec3<double> f = rows.at_point[k].f, t = (1 / size) * rows.at_point[k].t;
        const double unit = 1 / std::sqrt(norm2(f) + norm2(t));
        hold.along[k] = {unit * f, unit * t};
        // rows are those on b
        hold.share[k] = (layout.link[link.link].flipped ? 1 : -1) * scale[c.recorded + k] * unit;
      }
    }
    hold.complete(link.held);
    return hold;
  }

  // a link's part of B, with which K and g grow, and of F
  void add_link(const GroupLink& link, Vec3<double> centre, const double* lambda, Offset width, double* free) {
    const Hold hold = hold_of(link);
    const Vec3<double> arm = (1 / size) * (centre - hold.point);
    const int* column = groups.column + link.first_column;
    double* shares = share + link.first_share;
    for (int s = link.first_strand, at = 0; s < link.end_strand; ++s) {
      const GroupLoop& loop = groups.loop[groups.strand[s].loop];
      const int count = layout.constraint[loop.constraint].row_count;
      for (int k = 0; k < count; ++k, ++at) {
        Wrench<double> sum = {{0, 0, 0}, {0, 0, 0}};
        for (unsigned left = groups.strand[s].ends; left; left &= left - 1) {
          const Wrench<double>& w = pull[loop.first_pull + __builtin_ctz(left) * count + k];
          sum.f += w.f;
          sum.t += w.t;
        }
        sum.t += cross(arm, sum.f);
        double part[6];
        for (int q = 0; q < 6; ++q) part[q] = dot(hold.along[q].f, sum.f, hold.along[q].t, sum.t);
        for (int q = 0; q < link.held; ++q) shares[q * link.row_count + at] = hold.share[q] * part[q];
        for (int q = link.held; q < 6; ++q) free[(q - link.held) * width + column[at]] = part[q];
      }
    }
    for (int q = 0; q < link.held; ++q) {
      const double* b = shares + q * link.row_count;
      const int recorded = layout.constraint[link.constraint].recorded + q;
      const double there = lambda[recorded] * scale[recorded];
      for (int at = 0; at < link.row_count; ++at) {
        double* to = metric + column[at] * width;
        for (int before = 0; before <= at; ++before) to[column[before]] += b[at] * b[before];
        mu[column[at]] += b[at] * there;
      }
    }
  }

  void relieve_link(const GroupLink& link, double* lambda) const {
    const int* column = groups.column + link.first_column;
    for (int q = 0; q < link.held; ++q) {
      const double* b = share + link.first_share + q * link.row_count;
      const int recorded = layout.constraint[link.constraint].recorded + q;
      double sum = 0;
      for (int at = 0; at < link.row_count; ++at) sum += b[at] * mu[column[at]];
      lambda[recorded] -= sum / scale[recorded];
    }
  }

  // K = L L^T in place; on and above the diagonal there are zeros
  void factorise(int rows, Offset width) {
    for (int i = 0; i < rows; ++i) {
      double* a = metric + i * width;
      for (int j = 0; j < i; ++j) a[j] = (a[j] - product_of(a, metric + j * width, padded(j))) * inverse[j];
      const double square = a[i];
      a[i] = 0;
      inverse[i] = 1 / std::sqrt(square - product_of(a, a, padded(i)));
    }
  }
  void solve_lower(double* v, int rows, Offset width) const {
    for (int i = 0; i < rows; ++i) v[i] = (v[i] - product_of(v, metric + i * width, padded(i))) * inverse[i];
  }
  void solve_upper(double* v, int rows, Offset width) const {
    for (int i = rows - 1; i >= 0; --i) {
      v[i] *= inverse[i];
      subtract(v, v[i], metric + i * width, padded(i));
    }
  }

  // an orthonormal basis of up to `most` of the first `count` rows, which it replaces; how many are above rounding,
  // whose square is given
  int find_basis(int count, int most, Offset width, double rounding) {
    int rank = 0;
    for (; rank < count && rank < most; ++rank) {
      double largest = 0;
      for (int k = rank; k < count; ++k) {
        if (rank > 0) subtract(row[k], product_of(row[k], row[rank - 1], width), row[rank - 1], width);
        const double square = product_of(row[k], row[k], width);
        if (!(square > largest)) continue;
        largest = square;
        double* here = row[rank];
        row[rank] = row[k];
        row[k] = here;
      }
      if (!(largest > rounding)) break;
      // small ones are orthogonal to rounding of what they were before
      double* q = row[rank];
      for (int b = 0; b < rank; ++b) subtract(q, product_of(q, row[b], width), row[b], width);
      const double unit = 1 / std::sqrt(product_of(q, q, width));
      for (Offset w = 0; w < width; w += block_size) block(q + w) *= unit;
    }
    return rank;
  }
};

}  // namespace catena::CATENA_ISA
