/** Endpoints of operators for upstreams: health, keys at rest, and a test. */
import type { HostBase } from '../../../engine/plugin.ts'
import { operatorParts } from '../../operator/contributions.ts'
import { UPSTREAM_FINDING } from '../../rows/operations.ts'
import { UPSTREAM, upstreamRow } from '../../rows/upstreams.ts'
import { list as listOf } from '../../shapes.ts'
import { fault } from '../faults.ts'
import {
  type AdminCall,
  type AdminEndpoints,
  type AdminResult,
  asJson,
  bodyOf,
} from './endpoint.ts'

const list = async (_: AdminCall, host: HostBase): Promise<AdminResult> => {
  const status = await host.gateway.status()
  const names = Object.keys(host.upstreams)
  return { data: asJson(names.map(name => upstreamRow(name, host.upstreams, status))) }
}

const test = async ({ body }: AdminCall, host: HostBase): Promise<AdminResult> => {
  const { testUpstream } = operatorParts(host)
  if (!testUpstream) throw fault('ADMIN_NO_TEST')
  return { data: await testUpstream(host, String(body.upstream)) }
}

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
