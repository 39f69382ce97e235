/** Which route a request would meet, as commands ask: by method and target, `WS` for a WebSocket. */

import type { Matched, Route } from '../plugin.ts'
import type { CompiledRoute, Snapshot } from '../snapshot/snapshot.ts'
import { readTarget } from './path.ts'

export interface Met extends Omit<Matched<Route>, 'route'> {
  readonly compiled?: CompiledRoute
}

/** Throws PATH_REFUSED. */
export const meet = (snapshot: Snapshot, method: string, target: string, host = ''): Met => {
  const { path, search } = readTarget(target, host)
  const match = method === 'WS' ? snapshot.findWebSocket(path) : snapshot.find(method, path)
  const rest = { path, search, allowed: match ? [] : snapshot.methods(path) }
  return match
    ? { ...rest, compiled: match.value, params: match.params }
    : { ...rest, params: NO_PARAMS }
}
const NO_PARAMS = Object.freeze({})

/** The same, as plugins may know it. */
export const matchIn = (snapshot: Snapshot, method: string, target: string): Matched<Route> => {
  const { compiled, ...rest } = meet(snapshot, method, target)
  return compiled ? { ...rest, route: compiled.route } : rest
}
