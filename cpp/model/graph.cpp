#include "model/graph.hpp"

#include <algorithm>
#include <iterator>
#include <numeric>
#include <set>
#include <tuple>

namespace catena {

namespace {

// parts that edges join, one by one, the world among them
class Parts {
 public:
  explicit Parts(int vertex_count) : part_(vertex_count + 1) { std::iota(part_.begin(), part_.end(), 0); }
  // false if its ends are joined already
  bool join(const Edge& edge) {
    const int world = static_cast<int>(part_.size()) - 1;
    const int a = find(edge.a < 0 ? world : edge.a), b = find(edge.b < 0 ? world : edge.b);
    part_[a] = b;
    return a != b;
  }

 private:
  int find(int v) {
    while (part_[v] != v) v = part_[v] = part_[part_[v]];
    return v;
  }
  std::vector<int> part_;
};

// edges at light vertices that make no cycle with each other
std::vector<char> firm_edges(int vertex_count, const std::vector<Edge>& edges, const std::vector<char>& light) {
  std::vector<char> firm(edges.size(), 0);
  Parts parts(vertex_count);
  const auto is_light = [&](int v) { return v >= 0 && light[v] ? 1 : 0; };
  for (const int wanted : {2, 1})
    for (std::size_t e = 0; e < edges.size(); ++e)
      if (is_light(edges[e].a) + is_light(edges[e].b) == wanted) firm[e] = parts.join(edges[e]);
  return firm;
}

Forest grow_forest(int vertex_count, const std::vector<Edge>& edges, const std::vector<char>& light,
                   const std::vector<char>& firm, const std::vector<char>& usable) {
  // adjacency lists, the world last
  const int world = vertex_count;
  std::vector<std::vector<std::pair<int, int>>> adjacent(vertex_count + 1);
  for (int e = 0; e < static_cast<int>(edges.size()); ++e) {
    if (!usable[e]) continue;
    const int a = edges[e].a < 0 ? world : edges[e].a, b = edges[e].b < 0 ? world : edges[e].b;
    adjacent[a].push_back({b, e});
    adjacent[b].push_back({a, e});
  }

  Forest forest;
  forest.parent.assign(vertex_count, -1);
  forest.edge.assign(vertex_count, -1);
  std::vector<char> seen(vertex_count + 1, 0);
  std::vector<std::vector<int>> children(vertex_count + 1);
  std::vector<int> roots;

  // breadth first from the world, then from the first body of every component that does not reach it
  const auto grow = [&](int root) {
    std::vector<int> queue{root};
    seen[root] = 1;
    const auto visit = [&](int at, int next, int e) {
      seen[next] = 1;
      forest.found.push_back(next);
      forest.parent[next] = at == world ? -1 : at;
      forest.edge[next] = e;
      children[at].push_back(next);
      queue.push_back(next);
    };
    // whatever firm edges lead to from the last one of the queue
    const auto flood = [&] {
      for (std::size_t k = queue.size() - 1; k < queue.size(); ++k) {
        const int at = queue[k];
        for (const auto& [next, e] : adjacent[at])
          if (firm[e] && !seen[next]) visit(at, next, e);
      }
    };
    flood();
    for (std::size_t k = 0; k < queue.size(); ++k) {
      const int at = queue[k];
      for (const auto& [next, e] : adjacent[at]) {
        if (seen[next]) continue;
        visit(at, next, e);
        flood();
      }
    }
  };
  grow(world);
  roots = children[world];
  for (const char last : {0, 1})
    for (int v = 0; v < vertex_count; ++v) {
      if (seen[v] || light[v] != last) continue;
      forest.found.push_back(v);
      grow(v);
      roots.push_back(v);
    }

  // number depth first, with an explicit stack: chains may be a million links long
  std::vector<int> stack(roots.rbegin(), roots.rend());
  forest.order.reserve(vertex_count);
  while (!stack.empty()) {
    const int v = stack.back();
    stack.pop_back();
    forest.order.push_back(v);
    stack.insert(stack.end(), children[v].rbegin(), children[v].rend());
  }
  return forest;
}

// the edges of a forest
std::vector<char> edges_of(const Forest& forest, std::size_t count) {
  std::vector<char> used(count, 0);
  for (const int e : forest.edge)
    if (e >= 0) used[e] = 1;
  return used;
}

// what loops cost in a forest: that of the edges that close them, for every vertex on the way
double loop_cost(const Forest& forest, const std::vector<Edge>& edges) {
  std::vector<int> place(forest.order.size());
  for (std::size_t k = 0; k < place.size(); ++k) place[forest.order[k]] = static_cast<int>(k);
  const std::vector<char> used = edges_of(forest, edges.size());
  double cost = 0;
  for (std::size_t e = 0; e < edges.size(); ++e) {
    if (used[e]) continue;
    // up from the end that is deeper, whose number is larger
    int a = edges[e].a, b = edges[e].b;
    const auto number = [&](int v) { return v < 0 ? -1 : place[v]; };
    for (; a != b; cost += edges[e].cost) {
      int& deeper = number(a) > number(b) ? a : b;
      deeper = forest.parent[deeper];
    }
  }
  return cost;
}

}  // namespace

Forest spanning_forest(int vertex_count, const std::vector<Edge>& edges, const std::vector<char>& light) {
  const std::vector<char> firm = firm_edges(vertex_count, edges, light);
  Forest forest = grow_forest(vertex_count, edges, light, firm, std::vector<char>(edges.size(), 1));
  const auto cheaper = [](const Edge& a, const Edge& b) { return a.cost < b.cost; };
  const auto [least, most] = std::minmax_element(edges.begin(), edges.end(), cheaper);
  if (edges.empty() || least->cost == most->cost) return forest;

  // dear edges first (Kruskal); among equals those that breadth first has found
  const std::vector<char> used = edges_of(forest, edges.size());
  std::vector<int> order(edges.size());
  std::iota(order.begin(), order.end(), 0);
  const auto rank = [&](int e) { return std::tuple(!firm[e], -edges[e].cost, !used[e], e); };
  std::sort(order.begin(), order.end(), [&](int a, int b) { return rank(a) < rank(b); });
  std::vector<char> kept(edges.size(), 0);
  Parts parts(vertex_count);
  for (const int e : order) kept[e] = parts.join(edges[e]);
  if (kept == used) return forest;
  Forest other = grow_forest(vertex_count, edges, light, firm, kept);
  return loop_cost(other, edges) < loop_cost(forest, edges) ? other : forest;
}

std::vector<std::vector<int>> symbolic_fill(const std::vector<int>& order,
                                            const std::vector<std::vector<int>>& adjacency) {
  const int count = static_cast<int>(order.size());
  std::vector<int> place(count);
  for (int k = 0; k < count; ++k) place[order[k]] = k;

  // a vertex's later neighbours are its own plus those of the vertices whose first later neighbour it is
  std::vector<std::vector<int>> later(count), merged(count);
  for (int k = 0; k < count; ++k) {
    const int v = order[k];
    std::vector<int>& list = later[v];
    for (int u : adjacency[v])
      if (place[u] > k) list.push_back(u);
    for (int child : merged[v])
      for (int u : later[child])
        if (u != v) list.push_back(u);
    std::sort(list.begin(), list.end(), [&](int x, int y) { return place[x] < place[y]; });
    list.erase(std::unique(list.begin(), list.end()), list.end());
    if (!list.empty()) merged[list.front()].push_back(v);
  }
  return later;
}

double elimination_work(const std::vector<std::vector<int>>& later, const std::vector<int>& size) {
  double work = 0;
  for (std::size_t v = 0; v < later.size(); ++v) {
    double others = 0;
    for (int u : later[v]) others += size[u];
    const double own = size[v];
    work += own * own * own + 2 * own * own * others + own * others * others;
  }
  return work;
}

std::vector<int> minimum_degree_order(const std::vector<std::vector<int>>& adjacency, const std::vector<int>& size,
                                      const std::vector<char>& is_body, const std::vector<char>& grounded) {
  const int count = static_cast<int>(adjacency.size());
  // neighbours, fill included, in ascending order, among them some that are gone; how many are left, and their unknowns
  std::vector<std::vector<int>> near = adjacency;
  std::vector<int> left(count, 0), degree(count, 0), bodies_left(count, 0);
  // all that is left of a vertex's neighbours touch each other: its elimination makes no fill
  std::vector<char> in_clique(count, 0);
  std::vector<char> gone(count, 0);
  for (int v = 0; v < count; ++v) {
    std::sort(near[v].begin(), near[v].end());
    left[v] = static_cast<int>(near[v].size());
    for (int u : near[v]) degree[v] += size[u];
    if (!is_body[v]) bodies_left[v] = left[v];
  }

  // what has been eliminated, in connected parts; a part that reaches the world has lost its free motion
  std::vector<int> part(count);
  std::vector<char> anchored = grounded;
  for (int v = 0; v < count; ++v) part[v] = v;
  const auto find = [&](int v) {
    while (part[v] != v) v = part[v] = part[part[v]];
    return v;
  };

  const auto hangs = [&](int v) {
    if (bodies_left[v] == static_cast<int>(adjacency[v].size()) || left[v] > 1) return false;
    return std::none_of(adjacency[v].begin(), adjacency[v].end(), [&](int u) { return gone[u] && anchored[find(u)]; });
  };
  std::set<std::pair<int, int>> queue;  // (degree, vertex)
  std::vector<int> queued(count, -1);   // with which degree, -1 if not
  const auto update = [&](int v) {
    const bool ripe = !gone[v] && (is_body[v] || bodies_left[v] == 0 || hangs(v));
    const int next = ripe ? degree[v] : -1;
    if (queued[v] == next) return;
    if (queued[v] >= 0) queue.erase({queued[v], v});
    if (next >= 0) queue.insert({next, v});
    queued[v] = next;
  };
  for (int v = 0; v < count; ++v) update(v);

  std::vector<int> order, touched, merged;
  while (!queue.empty()) {
    const int v = queue.begin()->second;
    gone[v] = 1;
    order.push_back(v);
    for (int u : adjacency[v]) {
      if (is_body[v] && !is_body[u]) --bodies_left[u];
      if (!gone[u]) continue;
      const int a = find(u), b = find(v);
      anchored[b] = anchored[a] || anchored[b];
      part[a] = b;
    }
    touched.clear();
    std::copy_if(near[v].begin(), near[v].end(), std::back_inserter(touched), [&](int u) { return !gone[u]; });
    for (int u : touched) {
      --left[u];
      degree[u] -= size[v];
      // what it touched now touches each other
      const int before = left[u];
      if (!in_clique[v]) {
        merged.clear();
        std::set_union(near[u].begin(), near[u].end(), touched.begin(), touched.end(), std::back_inserter(merged));
        std::erase_if(merged, [&](int w) { return gone[w] || w == u; });
        left[u] = static_cast<int>(merged.size());
        degree[u] = 0;
        for (int w : merged) degree[u] += size[w];
        near[u] = merged;
      }
      in_clique[u] = (in_clique[u] && left[u] == before) || left[u] + 1 == static_cast<int>(touched.size());
    }
    update(v);
    for (int u : touched) update(u);
  }
  return order;
}

}  // namespace catena
