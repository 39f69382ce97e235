/** The serving part of a gateway inside this process: compiled from a file, on a port of its own, without a store. */

import { load } from '../../engine/config/load.ts'
import { createLog } from '../../engine/observe/log.ts'
import { createMetrics } from '../../engine/observe/metrics.ts'
import { createLocalAllowances } from '../../engine/quota/allowance.ts'
import { BackgroundCalls } from '../../engine/request/background-calls.ts'
import { createGatewayServer } from '../../engine/server.ts'
import type { Resources } from '../../engine/snapshot/resources.ts'
import { SharedResources } from '../../engine/snapshot/shared-resources.ts'
import { CACHE } from './cache.ts'

export const startInside = async (config: string) => {
  const resources = resourcesOf()
  let version = 0
  const build = async () =>
    (await load({ config, version: ++version, cacheFolder: CACHE, resources, progress() {} }))
      .snapshot
  let current = await build()
  const server = createGatewayServer(() => current, resources)
  const { port } = await server.listen(0, '127.0.0.1')
  return {
    url: `http://127.0.0.1:${port}`,
    port,
    pid: process.pid,
    admin: '',
    data: '',
    key: () => Promise.resolve(''),
    output: () => '',
    reload: async () => {
      const next = await build()
      const previous = current
      current = next
      void previous.retire()
    },
    stop: async () => {
      await server.drain(0)
      await current.retire()
    },
  }
}

const resourcesOf = (): Resources => {
  const absent = (): never => {
    throw new Error('there is no store inside a test')
  }
  return {
    role: 'test',
    log: createLog({ level: 'silent' }),
    metrics: createMetrics(),
    database: {
      write: absent,
      read: absent,
      pages: absent,
      now: () => Promise.resolve(Date.now()),
    },
    shared: new SharedResources(),
    backgroundCalls: new BackgroundCalls(),
    allowances: createLocalAllowances(),
    jobs: { start: absent } as unknown as Resources['jobs'],
    membership: { name: absent, isCurrent: absent, reportExpelled: absent, listen() {} },
  }
}
