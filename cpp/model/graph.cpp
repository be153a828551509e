#include "model/graph.hpp"

#include <algorithm>
#include <deque>
#include <set>

namespace catena {

Forest spanning_forest(int vertex_count, const std::vector<Edge>& edges) {
  // adjacency lists, the world last
  const int world = vertex_count;
  std::vector<std::vector<std::pair<int, int>>> adjacent(vertex_count + 1);
  for (int e = 0; e < static_cast<int>(edges.size()); ++e) {
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
    std::deque<int> queue{root};
    seen[root] = 1;
    while (!queue.empty()) {
      const int at = queue.front();
      queue.pop_front();
      for (const auto& [next, e] : adjacent[at]) {
        if (seen[next]) continue;
        seen[next] = 1;
        forest.parent[next] = at == world ? -1 : at;
        forest.edge[next] = e;
        children[at].push_back(next);
        queue.push_back(next);
      }
    }
  };
  grow(world);
  roots = children[world];
  for (int v = 0; v < vertex_count; ++v) {
    if (seen[v]) continue;
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

std::vector<std::vector<int>> symbolic_fill(const std::vector<int>& order,
                                            const std::vector<std::vector<int>>& adjacency) {
  const int count = static_cast<int>(order.size());
  std::vector<int> place(count);
  for (int k = 0; k < count; ++k) place[order[k]] = k;

  // a node's later neighbours are its own plus those of the nodes whose first later neighbour it is
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
  std::vector<std::set<int>> near(count);
  std::vector<int> bodies_left(count, 0);
  for (int v = 0; v < count; ++v)
    for (int u : adjacency[v]) {
      near[v].insert(u);
      if (!is_body[v]) ++bodies_left[v];
    }

  // what has been eliminated, in connected parts; a part that reaches the world has lost its free motion
  std::vector<int> part(count);
  std::vector<char> anchored = grounded;
  for (int v = 0; v < count; ++v) part[v] = v;
  const auto find = [&](int v) {
    while (part[v] != v) v = part[v] = part[part[v]];
    return v;
  };

  std::set<std::pair<int, int>> queue;  // (degree, node)
  std::vector<int> degree(count, -1);   // as queued, -1 if not
  std::vector<char> gone(count, 0);
  const auto update = [&](int v) {
    if (degree[v] >= 0) queue.erase({degree[v], v});
    degree[v] = -1;
    bool hangs = !is_body[v] && bodies_left[v] < static_cast<int>(adjacency[v].size()) && near[v].size() <= 1;
    for (int u : adjacency[v]) hangs = hangs && !(gone[u] && anchored[find(u)]);
    if (gone[v] || !(is_body[v] || bodies_left[v] == 0 || hangs)) return;
    degree[v] = 0;
    for (int u : near[v]) degree[v] += size[u];
    queue.insert({degree[v], v});
  };
  for (int v = 0; v < count; ++v) update(v);

  std::vector<int> order;
  while (!queue.empty()) {
    const int v = queue.begin()->second;
    gone[v] = 1;
    order.push_back(v);
    for (int u : adjacency[v]) {
      if (!gone[u]) continue;
      const int a = find(u), b = find(v);
      anchored[b] = anchored[a] || anchored[b];
      part[a] = b;
    }
    // what it touched now touches each other
    for (int u : near[v]) {
      near[u].erase(v);
      if (is_body[v] && !is_body[u]) --bodies_left[u];
      for (int w : near[v])
        if (w != u) near[u].insert(w);
    }
    update(v);
    for (int u : near[v]) update(u);
  }
  return order;
}

}  // namespace catena
