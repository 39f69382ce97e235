/** Measures what tasks with images cost the calls beside them, and how long a burst of large
 *  creates silences a worker. */
import type { ChildProcess } from 'node:child_process'
import { randomBytes } from 'node:crypto'
import { once } from 'node:events'
import { setTimeout as pause } from 'node:timers/promises'
import { findRunning } from '../../../engine/processes/running-gateway.ts'
import { requestBody } from '../answers.ts'
import { PATH } from '../gateway.ts'
import type { Outcome } from '../load.ts'
import { type Load, requestOf } from '../rounds.ts'
import type { Subject } from '../tables.ts'
import { BURST, type Burst, type TaskImages } from './images-report.ts'

interface Gateway extends Subject {
  /** The data folder. */
  readonly store: string
  readonly child: ChildProcess
}
/** A new gateway with an upstream of its own. */
type Start = () => Promise<{ readonly gateway: Gateway; readonly load: Load }>

const CREATE = '/ent/v2/img2video'
const LANES = 4
/** Bytes of an image that costs nothing: its tasks are polled as those with large ones. */
const SMALL_IMAGE = 1_000
const CALLS = { connections: 16, seconds: 15, rate: 40 }
/** ms: longer than a worker keeps its metrics. */
const REPORTED = 3_000

export const measureTaskImages = async (
  start: Start,
  { count, size }: { readonly count: number; readonly size: number },
): Promise<TaskImages> => {
  const small = await start()
  const none = await measureCalls(small)
  await createTasks(small.gateway, count, SMALL_IMAGE)
  const polled = await measureCalls(small)
  const ended = once(small.gateway.child, 'exit')
  small.gateway.child.kill('SIGTERM')
  await ended
  const large = await start()
  const refusedCreates = await createTasks(large.gateway, count, size)
  const after = await measureCalls(large)
  const calls = [none, polled, after] as const
  return { count, size, calls, refusedCreates, burst: await burst(large.gateway) }
}
const measureCalls = async ({ gateway, load }: Awaited<ReturnType<Start>>): Promise<Outcome> => {
  const options = { port: gateway.port, request: requestOf(gateway, PATH, requestBody('plain')) }
  await load({ ...options, ...CALLS, seconds: 5 })
  return load({ ...options, ...CALLS })
}
/** Returns how many creates were refused. */
const createTasks = async (gateway: Gateway, count: number, size: number): Promise<number> => {
  const body = createBody(size)
  let next = 0
  let refused = 0
  const lane = async (): Promise<void> => {
    while (next++ < count) if (!(await create(gateway, body))) refused++
  }
  await Promise.all(Array.from({ length: LANES }, lane))
  return refused
}

const createBody = (size: number): string => {
  const image = randomBytes(Math.ceil(size / 4) * 3).toString('base64')
  const images = [`data:image/png;base64,${image}`]
  return JSON.stringify({ model: 'clip', prompt: 'a cat', duration: 5, images })
}
/** Whether the create was accepted. */
const create = async ({ port, key }: Subject, body: string): Promise<boolean> => {
  const headers = { authorization: `Bearer ${key}`, 'content-type': 'application/json' }
  const url = `http://127.0.0.1:${port}${CREATE}`
  const { ok, status, ...response } = await fetch(url, { method: 'POST', headers, body }).then(
    async answer => ({ ok: answer.ok, status: answer.status, text: await answer.text() }),
  )
  if (!ok) console.log(`a create was refused: ${status} ${response.text.slice(0, 200)}`)
  return ok
}
const burst = async (gateway: Gateway): Promise<Burst> => {
  const body = createBody(BURST.size)
  await pause(REPORTED)
  const end = new AbortController()
  const silence = longestSilence(gateway.store, end.signal)
  const start = performance.now()
  const answers = await Promise.all(
    Array.from({ length: BURST.count }, () => create(gateway, body)),
  )
  const duration = performance.now() - start
  await pause(REPORTED)
  end.abort()
  return { refused: answers.filter(ok => !ok).length, duration, silence: await silence }
}
/** The longest delay of a worker's event loop until the signal, ms. */
const longestSilence = async (store: string, signal: AbortSignal): Promise<number> => {
  const admin = (await findRunning(store))?.admin ?? ''
  let longest = 0
  while (!signal.aborted) {
    const text = await (await fetch(`${admin}/metrics`)).text()
    for (const line of text.split('\n'))
      if (/loop_delay_seconds\{.*worker.*statistic="max"/.test(line))
        longest = Math.max(longest, Number(line.split(' ').at(-1)))
    await pause(200)
  }
  return longest * 1_000
}
