/** A gateway whose store is made to fail under load, and what must hold whatever failed: who got a whole reply has paid for it,
 *  once; nobody else was served; and it heals by itself. */
import { execFileSync, spawn } from 'node:child_process'
import { once } from 'node:events'
import { readFileSync, writeFileSync } from 'node:fs'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { join } from 'node:path'
import type { Test } from 'tap'
import { type OpenDatabase, openDatabase } from '../../engine/store/database.ts'
import { audit } from '../../plugins/ledger/audit.ts'
import { creditAdmin } from '../helpers/credit.ts'
import { startGateway } from '../helpers/gateway.ts'
import { scaled } from '../helpers/long.ts'
import { eventually } from '../helpers/primary.ts'
import { temporaryFolder } from '../helpers/store.ts'
import { createAsking, type Reply } from './asking.ts'
import { writerOf } from './tree.ts'

const USAGE = { prompt_tokens: 3, completion_tokens: 5 }
const ANSWER = JSON.stringify({ id: 'x', choices: [], usage: USAGE })
const PLAIN = ['application/json', ANSWER] as const
const STREAM = ['text/event-stream', `data: ${ANSWER}\n\ndata: [DONE]\n\n`] as const
/** 0.001 a token written, in nanos. */
const DUE = 5 * 1_000_000

export interface Trouble {
  readonly data: string
  /** All that came so far. */
  readonly replies: readonly Reply[]
  writer(): Promise<number>
  /** One call of a route that nobody pays for. */
  free(): Promise<Reply>
  /** Until so many more replies fit, by clients that never stop asking. */
  until(fits: (reply: Reply) => boolean, count: number): Promise<readonly Reply[]>
  /** The same calls, plain and streamed, one after another, each until it is served. From then on nobody else asks. */
  work(): Promise<void>
  /** Everybody is heard out; nothing may be wrong. */
  settle(t: Test): Promise<void>
}

export const startTrouble = async (t: Test, data = temporaryFolder(t)): Promise<Trouble> => {
  const called = new Set<string>()
  const upstream = createServer((asked, response) => {
    called.add(String(asked.headers['x-request-id']))
    let text = ''
    asked.setEncoding('utf8').on('data', part => {
      text += part
    })
    asked.on('end', () => {
      const [type, answer] = text.includes('"stream":true') ? STREAM : PLAIN
      response.setHeader('content-type', type).end(answer)
    })
  }).listen(0, '127.0.0.1')
  await once(upstream, 'listening')
  const { port } = upstream.address() as AddressInfo
  const gateway = await startGateway({
    data,
    routes: `
pipeline: [errors, auth, model, meter, translate]
upstreams: { up: { url: 'http://127.0.0.1:${port}' } }
models:
  words: { to: up, price: { output: 1 / 1k }, output: 100 }
  gift: { to: up, free: true }
routes:
  - { path: POST /v1/chat/completions, auth: key, model: body, translate: openai-chat, errors: openai }
`,
  })
  await creditAdmin(data, 10n ** 15n)
  const key = await gateway.key()
  const replies: Reply[] = []
  const asking = createAsking(`${gateway.url}/v1/chat/completions`, key)
  const ask = async (model: string, stream = false): Promise<Reply> => {
    const reply = await asking.ask({ model, messages: [], max_tokens: 50, stream })
    if (model !== 'gift') replies.push(reply)
    return reply
  }
  let over = false
  const clients = Array.from({ length: 4 }, async () => {
    while (!over) {
      const reply = await ask('words')
      if (reply.status !== 200) await new Promise(resolve => setTimeout(resolve, 20))
    }
  })
  t.teardown(async () => {
    over = true
    await Promise.all(clients)
    asking.close()
    await gateway.stop()
    upstream.closeAllConnections()
    upstream.close()
  })
  return {
    data,
    replies,
    writer: () => eventually(() => writerOf(gateway.pid)),
    free: () => ask('gift'),
    async until(fits, count) {
      const from = replies.length
      await eventually(() => (replies.slice(from).filter(fits).length >= count ? true : undefined))
      return replies.slice(from).filter(fits)
    },
    async work() {
      over = true
      await Promise.all(clients)
      for (const stream of [false, true, false])
        await eventually(async () => {
          const { status, whole } = await ask('words', stream)
          return (status === 200 && whole) || undefined
        })
    },
    async settle(t) {
      over = true
      await Promise.all(clients)
      const database = await openDatabase({ url: 'sqlite:', data, writeTimeout: 10_000 })
      await judge(t, database, replies, called)
      await database.close()
    },
  }
}

const judge = async (
  t: Test,
  database: OpenDatabase,
  replies: readonly Reply[],
  called: ReadonlySet<string>,
): Promise<void> => {
  const read = (text: string) => database.read({ name: text, text }, [])
  await eventually(async () => {
    const [row] = await read("SELECT count(*) AS open FROM charges WHERE state = 'open'")
    return row?.open === 0 ? true : undefined
  })
  const rows = await read('SELECT request, state, amount, uncollected FROM charges')
  const settled = new Map(
    rows.filter(({ state }) => state === 'settled').map(row => [String(row.request), row]),
  )
  const whole = replies.filter(({ status, whole }) => status === 200 && whole)
  const unpaid = whole.filter(({ id }) => settled.get(id)?.amount !== DUE)
  t.same(unpaid, [], `${whole.length} replies came whole, and each is paid for`)
  const undone = replies.filter(({ status, id }) => status === 503 && settled.has(id))
  const refunded = new Map<string, unknown>()
  const charged = () => undone.filter(({ id }) => refunded.get(id) !== settled.get(id)?.amount)
  // Given back as soon as the store has an answer, which may be after the client had one.
  await eventually(async () => {
    const refunds = await read("SELECT request, amount FROM credits WHERE kind = 'refund'")
    for (const { request, amount } of refunds) refunded.set(String(request), amount)
    return charged().length === 0 || undefined
  }).catch(() => {})
  t.same(charged(), [], `nobody pays for a refusal; ${undone.length} were given back`)
  t.same(
    whole.filter(({ id }) => refunded.has(id)),
    [],
    'what was delivered is not given back',
  )
  const phantoms = [...settled.keys()].filter(id => !called.has(id))
  t.same(phantoms, [], 'nothing is charged for a call that never left')
  t.same(await audit(database), [], 'the books balance')
  const wrong = replies.filter(({ status }) => ![0, 200, 503].includes(status))
  t.same(wrong, [], 'served, or told to come again')
}

/** ms by which a client is refused: the store's patience, and what a busy machine adds to it. */
const TOLD = scaled(4_000, 1_500)
/** What every refusal while the store is away says: the dialect's error, and when to come again. */
export const tellsWhen = (t: Test, refused: readonly Reply[]): void => {
  const strange = refused.filter(({ retryAfter, text }) => {
    if (retryAfter !== '1') return true
    return typeof JSON.parse(text).error?.message !== 'string'
  })
  t.same(strange, [], `${refused.length} refusals, each with its Retry-After`)
  const longest = Math.max(...refused.map(({ took }) => took))
  t.ok(longest < TOLD, `none of them after more than ${Math.ceil(longest)} ms`)
}

/** A small disk of its own; undefined where nobody may make one. */
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
/** Takes all that is left of a disk. The file it did it with. */
export const fill = (folder: string): string => {
  const path = join(folder, 'filler')
  for (const size of [1_048_576, 4_096, 1])
    try {
      for (;;) writeFileSync(path, Buffer.alloc(size), { flag: 'a' })
    } catch {}
  return path
}

/** Has the kernel spoil system calls of a process, until the process or `stop` ends it. Resolves when it does. */
export const spoil = async (pid: number, injection: string) => {
  const calls = injection.split(':')[0] ?? ''
  const args = ['-f', '-qq', '-o', '/dev/null', '-e', `trace=${calls}`, '-e', `inject=${injection}`]
  const tracer = spawn('strace', [...args, '-p', String(pid)], { stdio: 'ignore' })
  const ended = new Promise<void>(resolve => {
    tracer.on('error', () => resolve())
    tracer.on('exit', () => resolve())
  })
  let over = false
  void ended.then(() => {
    over = true
  })
  await eventually(() => over || isTraced(pid) || undefined)
  return {
    ended,
    stop: () => {
      tracer.kill('SIGINT')
      return ended
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
export const canSpoil = (): boolean => {
  try {
    execFileSync('strace', ['-qq', '-o', '/dev/null', 'true'], { stdio: 'ignore' })
    return true
  } catch {
    return false
  }
}
