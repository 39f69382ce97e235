/** Endpoints of operators for upstreams: health, keys at rest, and a test. */
import type { HostBase } from '../../../engine/plugin.ts'
import { operatorParts } from '../../operator/contributions.ts'
import { UPSTREAM_FINDING } from '../../rows/operations.ts'
import {
  described,
  integer,
  list as listOf,
  map,
  nullable,
  number,
  object,
  oneOf,
  text,
} from '../../shapes.ts'
import type { UpstreamRow } from '../../views.ts'
import { fault } from '../faults.ts'
import {
  type AdminCall,
  type AdminEndpoints,
  type AdminResult,
  asJson,
  bodyOf,
} from './endpoint.ts'

const list = async (_: AdminCall, host: HostBase): Promise<AdminResult> => {
  const { upstreams, keys } = await host.gateway.status()
  const names = Object.keys(host.upstreams)
  const views = names.map(
    (name): UpstreamRow => ({
      name,
      title: host.upstreams[name]?.title ?? name,
      inside: host.upstreams[name]?.inside ?? null,
      formats: (host.upstreams[name]?.options.formats ?? null) as UpstreamRow['formats'],
      addresses: (upstreams[name] ?? []).map(each => ({ ...each, workers: { ...each.workers } })),
      keys: (keys[name] ?? []).map(each => ({ ...each, workers: { ...each.workers } })),
    }),
  )
  return { data: asJson(views) }
}

const test = async ({ body }: AdminCall, host: HostBase): Promise<AdminResult> => {
  const { testUpstream } = operatorParts(host)
  if (!testUpstream) throw fault('ADMIN_NO_TEST')
  return { data: await testUpstream(host, String(body.upstream)) }
}

const ADDRESS = object({
  address: text,
  state: oneOf('ready', 'ejected', 'probing', 'paused'),
  busy: integer,
  conversations: object({ own: integer, moved: integer }),
  warming: described('Names of targets that are being warmed up.', listOf(text)),
  workers: described('How many workers see each state.', map(integer)),
})
const KEY = object({
  key: described('The first digits of its SHA-256.', text),
  state: oneOf('ready', 'resting', 'probing', 'limited'),
  seconds: number,
  limited: listOf(text),
  workers: map(integer),
})
const UPSTREAM = object({
  name: text,
  title: described('By default its name.', text),
  inside: described('The plugin that answers for it.', nullable(text)),
  formats: nullable(listOf(text)),
  addresses: listOf(ADDRESS),
  keys: listOf(KEY),
})
export const upstreamEndpoints: AdminEndpoints = {
  'GET upstreams': {
    summary: 'Lists the upstreams with the health of their addresses and keys over all workers.',
    data: listOf(UPSTREAM),
    run: list,
  },
  'POST upstreams/test': {
    summary: 'Asks an upstream for its models with each of its keys. Nothing is charged.',
    body: bodyOf({ upstream: { type: 'string', maxLength: 200 } }, ['upstream']),
    isQuiet: true,
    data: listOf(UPSTREAM_FINDING),
    run: test,
  },
}
