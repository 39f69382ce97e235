/** Faults of the embedded store under load, and the rules that hold afterwards: every complete
 *  reply is charged once, refused calls are free, and the gateway recovers by itself. */
import { execFileSync, spawn } from 'node:child_process'
import { once } from 'node:events'
import { readFileSync, rmSync, truncateSync, writeFileSync } from 'node:fs'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { join } from 'node:path'
import type { Test } from 'tap'
import { type OpenDatabase, openDatabase } from '../../engine/store/database.ts'
import { audit } from '../../plugins/ledger/audit.ts'
import { startGateway, type TestGateway } from '../helpers/gateway/gateway.ts'
import { eventually } from '../helpers/gateway/primary.ts'
import { scaled } from '../helpers/machine-speed.ts'
import { creditAdmin } from '../helpers/money/credit.ts'
import { shortOrLong } from '../helpers/run-settings.ts'
import { temporaryFolder } from '../helpers/store/store.ts'
import { createClient, type Reply } from './call-client.ts'
import { writerOf } from './gateway-tree.ts'

const USAGE = { prompt_tokens: 3, completion_tokens: 5 }
const ANSWER = JSON.stringify({ id: 'x', choices: [{ finish_reason: 'stop' }], usage: USAGE })
const PLAIN = ['application/json', ANSWER] as const
const STREAM = ['text/event-stream', `data: ${ANSWER}\n\ndata: [DONE]\n\n`] as const
/** The price of one answer in nanos: 0.001 per output token. */
const PRICE = 5 * 1_000_000

export interface FaultyGateway {
  readonly data: string
  /** All replies so far. */
  readonly replies: readonly Reply[]
  writer(): Promise<number>
  /** One call to a free model. */
  askFree(): Promise<Reply>
  /** The status of the readiness check. */
  ready(): Promise<number>
  /** Ends the gateway, and starts it on its folder again after `between`. */
  restart(between: () => void): Promise<void>
  /** Kills all its processes, and starts it again. */
  crash(): Promise<void>
  primary(): number
  /** Resolves when so many more replies of the continuously calling clients match. */
  until(fits: (reply: Reply) => boolean, count: number): Promise<readonly Reply[]>
  /** Stops the clients and makes a fixed series of plain and streamed calls, each repeated until it
   *  is served. */
  runFixedCalls(): Promise<void>
  /** Waits for all replies and checks the rules. */
  finishAndCheck(t: Test): Promise<number>
}

export const startFaultyGateway = async (
  t: Test,
  data = temporaryFolder(t),
): Promise<FaultyGateway> => {
  const calledIds = new Set<string>()
  const upstream = createServer((request, response) => {
    calledIds.add(String(request.headers['x-request-id']))
    let text = ''
    request.setEncoding('utf8').on('data', part => {
      text += part
    })
    request.on('end', () => {
      const [type, answer] = text.includes('"stream":true') ? STREAM : PLAIN
      response.setHeader('content-type', type).end(answer)
    })
  }).listen(0, '127.0.0.1')
  await once(upstream, 'listening')
  const { port } = upstream.address() as AddressInfo
  const routes = `
pipeline: [errors, auth, model, meter, translate]
upstreams: { up: { url: 'http://127.0.0.1:${port}' } }
models:
  words: { to: up, price: { output: 1 / 1k }, output: 100 }
  gift: { to: up, free: true }
routes:
  - { path: POST /v1/chat/completions, auth: key, model: body, translate: openai-chat, errors: openai }
`
  const urlOf = ({ url }: TestGateway): string => `${url}/v1/chat/completions`
  let gateway = await startGateway({ data, routes })
  await creditAdmin(data, 10n ** 15n)
  const key = await gateway.key()
  const replies: Reply[] = []
  let client = createClient(urlOf(gateway), key)
  const ask = async (model: string, stream = false): Promise<Reply> => {
    const reply = await client.ask({ model, messages: [], max_tokens: 50, stream })
    if (model !== 'gift') replies.push(reply)
    return reply
  }
  const startAgain = async (): Promise<void> => {
    rmSync(join(data, 'cache'), { force: true })
    gateway = await startGateway({ data, routes })
    client.close()
    client = createClient(urlOf(gateway), key)
  }
  let isOver = false
  const clients = Array.from({ length: 4 }, async () => {
    while (!isOver) {
      const reply = await ask('words')
      if (reply.status !== 200) await new Promise(resolve => setTimeout(resolve, 20))
    }
  })
  t.teardown(async () => {
    isOver = true
    await Promise.all(clients)
    client.close()
    await gateway.stop()
    upstream.closeAllConnections()
    upstream.close()
  })
  return {
    data,
    replies,
    writer: () => eventually(() => writerOf(gateway.pid)),
    askFree: () => ask('gift'),
    ready: async () => (await fetch(`${gateway.admin}/-/ready`)).status,
    async restart(between) {
      await gateway.stop()
      between()
      await startAgain()
    },
    async crash() {
      const { pid } = gateway
      const children = readFileSync(`/proc/${pid}/task/${pid}/children`, 'utf8').trim().split(' ')
      for (const each of [pid, ...children.map(Number)]) process.kill(each, 'SIGKILL')
      await startAgain()
    },
    primary: () => gateway.pid,
    async until(fits, count) {
      const from = replies.length
      await eventually(() => (replies.slice(from).filter(fits).length >= count ? true : undefined))
      return replies.slice(from).filter(fits)
    },
    async runFixedCalls() {
      isOver = true
      await Promise.all(clients)
      for (const stream of [false, true, false])
        await eventually(async () => {
          const { status, complete } = await ask('words', stream)
          return (status === 200 && complete) || undefined
        })
    },
    async finishAndCheck(t) {
      isOver = true
      await Promise.all(clients)
      const database = await openDatabase({ url: 'sqlite:', data, writeTimeout: 60_000 })
      const refunds = await checkRules(t, database, replies, calledIds)
      await database.close()
      return refunds
    },
  }
}

const checkRules = async (
  t: Test,
  database: OpenDatabase,
  replies: readonly Reply[],
  calledIds: ReadonlySet<string>,
): Promise<number> => {
  const read = (text: string) => database.read({ name: text, text }, [])
  await eventually(async () => {
    const [row] = await read("SELECT count(*) AS open FROM charges WHERE state = 'open'")
    return row?.open === 0 ? true : undefined
  })
  const rows = await read('SELECT request, state, amount, uncollected FROM charges')
  const settledRows = new Map(
    rows.filter(({ state }) => state === 'settled').map(row => [String(row.request), row]),
  )
  const complete = replies.filter(({ status, complete }) => status === 200 && complete)
  const unpaid = complete.filter(({ id }) => settledRows.get(id)?.amount !== PRICE)
  t.same(unpaid, [], `${complete.length} replies are complete, and each is charged`)
  const refusals = replies.filter(({ status, id }) => status === 503 && settledRows.has(id))
  const refundedAmounts = new Map<string, unknown>()
  const notRefunded = () =>
    refusals.filter(({ id }) => refundedAmounts.get(id) !== settledRows.get(id)?.amount)
  // The refund follows when the store answers, which may be after the client's response.
  await eventually(async () => {
    const refunds = await read("SELECT request, amount FROM credits WHERE kind = 'refund'")
    for (const { request, amount } of refunds) refundedAmounts.set(String(request), amount)
    return notRefunded().length === 0 || undefined
  }).catch(() => {})
  t.same(notRefunded(), [], `refused calls are free; ${refusals.length} were refunded`)
  t.same(
    complete.filter(({ id }) => refundedAmounts.has(id)),
    [],
    'delivered calls are not refunded',
  )
  const phantoms = [...settledRows.keys()].filter(id => !calledIds.has(id))
  t.same(phantoms, [], 'no charge without an upstream call')
  t.same(await audit(database), [], 'the ledger balances')
  const unexpected = replies.filter(({ status }) => ![0, 200, 503].includes(status))
  t.same(unexpected, [], 'every call is served or refused with 503')
  return refusals.length
}

/** Milliseconds within which a client is refused: the store's timeout, which the test's gateway
 *  scales with the machine, and what a busy machine adds. */
const MAX_REFUSAL = scaled(shortOrLong(4_000, 1_500))
/** Expects the dialect's error and Retry-After in every refusal while the store is unavailable. */
export const checkRefusals = (t: Test, refusals: readonly Reply[]): void => {
  const incomplete = refusals.filter(({ retryAfter, text }) => {
    if (retryAfter !== '1') return true
    return typeof JSON.parse(text).error?.message !== 'string'
  })
  t.same(incomplete, [], `${refusals.length} refusals, each with its Retry-After`)
  const longest = Math.max(...refusals.map(({ duration }) => duration))
  t.ok(longest < MAX_REFUSAL, `each within ${Math.ceil(longest)} ms`)
}

/** Mounts a small disk; undefined where that is not permitted. */
export const smallDisk = (t: Test, megabytes: number): string | undefined => {
  const folder = temporaryFolder(t)
  try {
    execFileSync('mount', ['-t', 'tmpfs', '-o', `size=${megabytes}m`, 'tmpfs', folder], {
      stdio: 'ignore',
    })
  } catch {
    return undefined
  }
  const unmount = (): void => {
    try {
      execFileSync('umount', ['-l', folder], { stdio: 'ignore' })
    } catch {}
  }
  process.once('exit', unmount)
  t.teardown(unmount)
  return folder
}
export interface FailingDisk {
  readonly folder: string
  /** The file system turns read-only, as after an error of its device: open files too. The writer
   *  is stopped meanwhile: of a sync that runs at this moment ext4 may say that it succeeded and
   *  lose it, in 25 of 502 runs of a program that only writes and syncs. */
  fail(writer: number): Promise<void>
  /** Mounts it again: what was not synced is lost. */
  repair(): void
}
/** Mounts a file system of its own; undefined where that is not permitted. */
export const failingDisk = (t: Test): FailingDisk | undefined => {
  const folder = temporaryFolder(t)
  const image = join(temporaryFolder(t), 'image')
  const run = (program: string, ...args: readonly string[]): void =>
    void execFileSync(program, args, { stdio: 'ignore' })
  const unmount = (): void => {
    try {
      run('umount', '-l', folder)
    } catch {}
  }
  try {
    writeFileSync(image, '')
    truncateSync(image, 64 * 1_048_576)
    run('mkfs.ext4', '-q', image)
    run('mount', '-o', 'loop', image, folder)
  } catch {
    return undefined
  }
  process.once('exit', unmount)
  t.teardown(unmount)
  return {
    folder,
    async fail(writer) {
      process.kill(writer, 'SIGSTOP')
      // The writer stops once its system call has returned.
      await eventually(() => isStopped(writer) || undefined)
      run('mount', '-o', 'remount,abort', folder)
      process.kill(writer, 'SIGCONT')
    },
    repair() {
      run('umount', folder)
      run('mount', '-o', 'loop', image, folder)
    },
  }
}
const isStopped = (pid: number): boolean =>
  /^State:\tT/m.test(readFileSync(`/proc/${pid}/status`, 'utf8'))
/** Fills a disk. Returns the path of the filling file. */
export const fillDisk = (folder: string): string => {
  const path = join(folder, 'filler')
  for (const size of [1_048_576, 4_096, 1])
    try {
      for (;;) writeFileSync(path, Buffer.alloc(size), { flag: 'a' })
    } catch {}
  return path
}

/** Injects faults into system calls of a process. Resolves when the injection is active; it lasts
 *  until the process ends or `stop`. */
export const injectFault = async (pid: number, injection: string) => {
  const calls = injection.split(':')[0] ?? ''
  const args = ['-f', '-qq', '-o', '/dev/null', '-e', `trace=${calls}`, '-e', `inject=${injection}`]
  const tracer = spawn('strace', [...args, '-p', String(pid)], { stdio: 'ignore' })
  const exit = new Promise<void>(resolve => {
    tracer.on('error', () => resolve())
    tracer.on('exit', () => resolve())
  })
  let isOver = false
  void exit.then(() => {
    isOver = true
  })
  await eventually(() => isOver || isTraced(pid) || undefined)
  return {
    ended: exit,
    stop: () => {
      tracer.kill('SIGINT')
      return exit
    },
  }
}
export const isTraced = (pid: number): boolean => {
  try {
    return !/^TracerPid:\t0$/m.test(readFileSync(`/proc/${pid}/status`, 'utf8'))
  } catch {
    return true
  }
}
export const canInjectFaults = (): boolean => {
  try {
    execFileSync('strace', ['-qq', '-o', '/dev/null', 'true'], { stdio: 'ignore' })
    return true
  } catch {
    return false
  }
}
