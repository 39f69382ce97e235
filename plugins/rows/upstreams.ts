/** Rows of upstreams, for operators: a JSON Schema of each, its type, and its reader. */
import type { HostBase } from '../../engine/plugin.ts'
import {
  described,
  integer,
  list,
  map,
  nullable,
  number,
  object,
  oneOf,
  type TypeOf,
  text,
} from '../shapes.ts'

const SINCE = described(
  'When it came into this state, ISO 8601; null: ready since the gateway knows it.',
  nullable(text),
)
const ADDRESS = object({
  address: text,
  state: oneOf('ready', 'ejected', 'probing', 'paused'),
  since: SINCE,
  busy: integer,
  conversations: object({ own: integer, moved: integer }),
  warming: described('Names of targets that are being warmed up.', list(text)),
  workers: described('How many workers see each state.', map(integer)),
})
const KEY = object({
  key: described('The first digits of its SHA-256.', text),
  state: oneOf('ready', 'resting', 'probing', 'limited'),
  since: SINCE,
  seconds: number,
  limited: list(text),
  workers: map(integer),
})
export const UPSTREAM = object({
  name: text,
  title: described('By default its name.', text),
  inside: described('The plugin that answers for it.', nullable(text)),
  formats: nullable(list(text)),
  addresses: list(ADDRESS),
  keys: list(KEY),
})
export type UpstreamRow = TypeOf<typeof UPSTREAM>

type Status = Awaited<ReturnType<HostBase['gateway']['status']>>
/** `views`: of the configuration; `status`: as the workers see its addresses and keys. */
export const upstreamRow = (
  name: string,
  views: HostBase['upstreams'],
  status: Pick<Status, 'upstreams' | 'keys'>,
): UpstreamRow => {
  const { title = name, inside = null, options } = views[name] ?? {}
  return {
    name,
    title,
    inside,
    formats: (options?.formats ?? null) as UpstreamRow['formats'],
    addresses: (status.upstreams[name] ?? []).map(withTime),
    keys: (status.keys[name] ?? []).map(withTime),
  }
}
const withTime = <Part extends { readonly since: number | null }>(part: Part) => ({
  ...part,
  since: part.since === null ? null : new Date(part.since).toISOString(),
})
