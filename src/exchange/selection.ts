import type { Format } from '@/generation/format.ts'
import type { Route } from '@/routing/model.ts'

/**
 * The order in which a model's routes are tried: by the channel's priority, then the route's; the caller's own
 * format before those that need conversion; the rest is drawn by weight. Pure: `random` gives numbers in [0, 1).
 */
export function orderRoutes(routes: readonly Route[], format: Format, random: () => number): Route[] {
  return routes
    .map(route => ({ route, draw: drawKey(route.channel.weight * route.weight, random()) }))
    .sort(
      (a, b) =>
        a.route.channel.priority - b.route.channel.priority ||
        a.route.priority - b.route.priority ||
        foreign(a.route, format) - foreign(b.route, format) ||
        a.draw - b.draw,
    )
    .map(({ route }) => route)
}

function foreign(route: Route, format: Format): number {
  return route.channel.format === format ? 0 : 1
}

/** Sorting by these keys draws without replacement in proportion to the weights; weight 0 comes last. */
function drawKey(weight: number, random: number): number {
  return weight > 0 ? -Math.log(1 - random) / weight : Number.POSITIVE_INFINITY
}
