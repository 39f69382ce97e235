/** Measures what open tasks cost: memory, the polls that are in time, and creates beside them. */
import { once } from 'node:events'
import { setTimeout as pause } from 'node:timers/promises'
import { findRunning } from '../../../engine/processes/running-gateway.ts'
import { openDatabase } from '../../../engine/store/database.ts'
import type { Outcome } from '../load.ts'
import { memoryOf, type Part } from '../processes.ts'
import type { OpenTasks } from '../report.ts'
import { type Load, requestOf } from '../rounds.ts'
import type { Subject } from '../tables.ts'
import type { Polls } from './upstream.ts'

/** Polls a second that one upstream gets, unless `polls:` says otherwise. */
const RATE = 200
/** s between two polls of a task that runs. */
const INTERVAL = 20
const PATH = '/ent/v2/text2video'
const BODY = JSON.stringify({ model: 'clip', prompt: 'a cat', duration: 5 })

interface Gateway extends Subject {
  readonly pid: number
  /** The data folder. */
  readonly store: string
}

export const measureOpenTasks = async (
  gateway: Gateway,
  { child }: Part,
  load: Load,
  count: number,
): Promise<OpenTasks> => {
  const create = (): Promise<Outcome> =>
    load({
      port: gateway.port,
      request: requestOf(gateway, PATH, BODY),
      connections: 16,
      seconds: 10,
      rate: 20,
    })
  const polls = async (): Promise<Polls> => {
    child.send('read')
    const [message] = await once(child, 'message')
    return message as Polls
  }
  const before = await create()
  const memoryBefore = pssOf(gateway.pid)
  await addTasks(gateway.store, count)
  const longest = Math.max(INTERVAL, count / RATE)
  // The first polls have no interval yet.
  await pause(longest * 1_000)
  await polls()
  const seconds = longest * 1.4
  const [, after] = await Promise.all([pause(seconds * 1_000), create()])
  const { tasks, intervals } = await polls()
  const limit = longest * 1_200
  const timely = intervals.filter(interval => interval <= limit).length
  return {
    count,
    memory: [memoryBefore, pssOf(gateway.pid)],
    creates: [before, after],
    inTime: Math.min(1, timely / tasks),
    pollsPerSecond: intervals.length / seconds,
    loopDelay: await loopDelayOf(gateway.store),
  }
}

/** Tasks of another account that run at the upstream, due over the next interval. */
const addTasks = async (data: string, count: number): Promise<void> => {
  const database = await openDatabase({ url: 'sqlite:', data, writeTimeout: 300_000 })
  const now = Date.now()
  await database.write([
    {
      sql: {
        name: 'bench: tasks',
        text: `WITH RECURSIVE n (at) AS (SELECT 1 UNION ALL SELECT at + 1 FROM n WHERE at < ?)
          INSERT INTO tasks (id, account, request, route, path, model, version, state, body, slots, target, upstream,
            upstream_id, created, changed, deadline, expires, due)
          SELECT printf('9%017d', at), 2, printf('req_bench_%d', at), route, path, model, version, 'running', body,
            slots, target, upstream, printf('up-%d', at), created, created, ?, ?, ? + at * 20000 / ?
          FROM n, (SELECT * FROM tasks LIMIT 1)`,
      },
      values: [count, now + 86_400_000, now + 86_400_000, now, count],
    },
  ])
  await database.close()
}

const pssOf = (pid: number): number => memoryOf(pid).reduce((sum, { pss }) => sum + pss, 0)

const loopDelayOf = async (data: string): Promise<number> => {
  const admin = (await findRunning(data))?.admin ?? ''
  const text = await (await fetch(`${admin}/metrics`)).text()
  const line = text
    .split('\n')
    .find(each => /loop_delay_seconds\{.*worker.*statistic="p99"/.test(each))
  return Number(line?.split(' ').at(-1) ?? Number.NaN) * 1_000
}
