/** Measures what tasks with images cost the calls beside them, and how long a burst of large
 *  creates silences a worker. */
import { randomBytes } from 'node:crypto'
import { once } from 'node:events'
import { setTimeout as pause } from 'node:timers/promises'
import { findRunning } from '../../../engine/processes/running-gateway.ts'
import { requestBody } from '../answers.ts'
import { PATH } from '../gateway.ts'
import type { Outcome } from '../load.ts'
import type { Part } from '../processes.ts'
import { type Load, requestOf } from '../rounds.ts'
import { median, type Subject } from '../tables.ts'
import { BURST, type Burst, type Bursts, type TaskImages } from './images-report.ts'
import type { Order, Polls } from './upstream.ts'

interface Gateway extends Subject {
  /** The data folder. */
  readonly store: string
}
interface Started {
  readonly gateway: Gateway
  readonly load: Load
  readonly taskUpstream: Part
}

const CREATE = '/ent/v2/img2video'
const RESPOND = '/v1/responses'
const LANES = 4
/** Bytes of an image that costs nothing: its tasks are polled as those with large ones. */
const SMALL_IMAGE = 1_000
const CALLS = { connections: 16, seconds: 15, rate: 40 }
/** Until the compilers of the runtime have finished most of their work. */
const WARM_UP = { connections: 16, seconds: 20, rate: 200 }
/** ms: longer than a worker keeps its metrics. */
const REPORTED = 3_000
const CODEC_RUNS = 9

/** All in one gateway, in turns: what else runs on the machine affects all alike. */
export const measureTaskImages = async (
  { gateway, load, taskUpstream }: Started,
  { count, size, rounds }: { readonly count: number; readonly size: number; rounds: number },
): Promise<TaskImages> => {
  const options = { port: gateway.port, request: requestOf(gateway, PATH, requestBody('plain')) }
  const calls = { none: [] as Outcome[], small: [] as Outcome[], large: [] as Outcome[] }
  const measure = async (name: keyof typeof calls): Promise<void> => {
    await load({ ...options, ...CALLS, seconds: 2 })
    calls[name].push(await load({ ...options, ...CALLS }))
  }
  let refusedCreates = 0
  await load({ ...options, ...WARM_UP })
  for (let round = 0; round < rounds; round++) {
    await measure('none')
    for (const [name, bytes] of [['small', SMALL_IMAGE] as const, ['large', size] as const]) {
      refusedCreates += await createTasks({ gateway, taskUpstream }, count, bytes)
      await measure(name)
      await finishTasks(taskUpstream)
    }
  }
  return { count, size, calls, refusedCreates, ...(await measureBursts({ gateway, taskUpstream })) }
}
const ask = async ({ child }: Part, order: Order): Promise<Polls> => {
  child.send(order)
  const [message] = await once(child, 'message')
  return message as Polls
}
/** Resolves when the upstream has so many tasks, or has reported their end. */
const reached = async (upstream: Part, name: 'submits' | 'ended', count: number): Promise<void> => {
  while ((await ask(upstream, 'read'))[name] < count) await pause(100)
}
const finishTasks = async (upstream: Part): Promise<void> => {
  const { submits } = await ask(upstream, 'finish')
  await reached(upstream, 'ended', submits)
}
/** Resolves when the upstream has the tasks; returns how many creates were refused. */
const createTasks = async (
  { gateway, taskUpstream }: Omit<Started, 'load'>,
  count: number,
  size: number,
): Promise<number> => {
  const { submits } = await ask(taskUpstream, 'read')
  const body = createBody(size)
  let next = 0
  let refused = 0
  const lane = async (): Promise<void> => {
    while (next++ < count) if (!(await create(gateway, CREATE, body))) refused++
  }
  await Promise.all(Array.from({ length: LANES }, lane))
  await reached(taskUpstream, 'submits', submits + count - refused)
  return refused
}

const imageOf = (size: number): string =>
  `data:image/png;base64,${randomBytes(Math.ceil(size / 4) * 3).toString('base64')}`
const createBody = (size: number): string =>
  JSON.stringify({ model: 'clip', prompt: 'a cat', duration: 5, images: [imageOf(size)] })
const backgroundBody = (size: number): string => {
  const content = [{ type: 'input_image', image_url: imageOf(size), detail: 'auto' }]
  return JSON.stringify({ model: 'seeing', background: true, input: [{ role: 'user', content }] })
}
/** Whether the create was accepted. */
const create = async ({ port, key }: Subject, path: string, body: string): Promise<boolean> => {
  const headers = { authorization: `Bearer ${key}`, 'content-type': 'application/json' }
  const url = `http://127.0.0.1:${port}${path}`
  const { ok, status, ...response } = await fetch(url, { method: 'POST', headers, body }).then(
    async answer => ({ ok: answer.ok, status: answer.status, text: await answer.text() }),
  )
  if (!ok) console.log(`a create was refused: ${status} ${response.text.slice(0, 200)}`)
  return ok
}
/** Large creates at once: of tasks, then of background responses. */
const measureBursts = async (started: Omit<Started, 'load'>): Promise<Bursts> => {
  const body = backgroundBody(BURST.size)
  return {
    burst: await burst(started, CREATE, createBody(BURST.size)),
    backgroundBurst: await burst(started, RESPOND, body),
    codec: codecTime(body),
  }
}
const burst = async (
  { gateway, taskUpstream }: Omit<Started, 'load'>,
  path: string,
  body: string,
): Promise<Burst> => {
  const { submits } = await ask(taskUpstream, 'read')
  await pause(REPORTED)
  const end = new AbortController()
  const silence = longestSilence(gateway.store, end.signal)
  const start = performance.now()
  const answers = await Promise.all(
    Array.from({ length: BURST.count }, () => create(gateway, path, body)),
  )
  const duration = performance.now() - start
  const refused = answers.filter(ok => !ok).length
  await reached(taskUpstream, 'submits', submits + BURST.count - refused)
  await pause(REPORTED)
  end.abort()
  return { refused, duration, silence: await silence }
}
/** ms that `JSON.parse` and `JSON.stringify` of a body take: the median of several. */
const codecTime = (body: string): number => {
  const bytes = Buffer.from(body)
  const times = Array.from({ length: CODEC_RUNS }, () => {
    const start = performance.now()
    Buffer.from(JSON.stringify(JSON.parse(bytes.toString())))
    return performance.now() - start
  })
  return median(times)
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
