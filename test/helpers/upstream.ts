/** Starts a scripted upstream in a process of its own; tells it what to do and hears what it saw. */
import { once } from 'node:events'
import type { Answer, Happening, Order, Step } from '../fixtures/upstream/script.ts'
import { forkSwiftly } from './operator.ts'

export type Seen<What extends Happening['what']> = Extract<Happening, { readonly what: What }>

export interface Upstream {
  readonly url: string
  readonly port: number
  /** Everything seen so far, in order. Call `look` first where absence is the claim. */
  readonly happenings: readonly Happening[]
  /** The n-th request that names this script takes the n-th turn; the last turn stays. `port:name` for one listener. */
  script(name: string, ...turns: readonly (readonly Step[])[]): Promise<void>
  /** Lets every connection pass that waits, or will wait, at this gate. */
  open(gate: string): Promise<void>
  /** The first happening, past or coming, that matches. */
  until<What extends Happening['what']>(
    what: What,
    match?: (seen: Seen<What>) => boolean,
  ): Promise<Seen<What>>
  /** Everything of one kind (and script), complete up to now. */
  seen<What extends Happening['what']>(what: What, script?: string): Promise<readonly Seen<What>[]>
  /** Connections open now, and how much of what was written the kernel took. */
  look(): Promise<NonNullable<Answer['open']>>
  /** One more port of the same process. */
  listen(listener: string, options?: { port?: number; greet?: string }): Promise<number>
  /** Closes a port and all its connections. */
  shut(listener: string): Promise<void>
  /** Forgets what was seen up to now, also what is still on its way here. */
  forget(): Promise<void>
  stop(): Promise<void>
}

interface Waiting {
  readonly match: (happening: Happening) => boolean
  readonly found: (happening: Happening) => void
}

const PATIENCE = 60_000

export const startUpstream = async (): Promise<Upstream> => {
  const child = forkSwiftly(new URL('../fixtures/upstream/scripted.ts', import.meta.url), [], {
    serialization: 'advanced',
    stdio: ['pipe', 'inherit', 'inherit', 'ipc'],
  })
  const happenings: Happening[] = []
  const waiting = new Set<Waiting>()
  const answers = new Map<number, (answer: Answer) => void>()
  const first = Promise.withResolvers<Answer>()
  answers.set(0, first.resolve)
  let count = 0

  child.on('message', (message: Answer | Happening) => {
    if ('id' in message) {
      answers.get(message.id)?.(message)
      answers.delete(message.id)
      return
    }
    happenings.push(message)
    for (const one of waiting) if (one.match(message)) one.found(message)
  })

  const order = async (order: Order): Promise<Answer> => {
    const id = ++count
    const { promise, resolve } = Promise.withResolvers<Answer>()
    answers.set(id, resolve)
    child.send({ id, ...order })
    const answer = await promise
    if (answer.wrong !== undefined) throw new Error(answer.wrong)
    return answer
  }

  const until = <What extends Happening['what']>(
    what: What,
    match: (seen: Seen<What>) => boolean = () => true,
  ): Promise<Seen<What>> => {
    const fits = (seen: Happening): boolean => seen.what === what && match(seen as Seen<What>)
    const past = happenings.find(fits)
    if (past) return Promise.resolve(past as Seen<What>)
    return new Promise((resolve, reject) => {
      const late = setTimeout(() => {
        waiting.delete(one)
        reject(new Error(`the upstream never saw: ${what}`))
      }, PATIENCE)
      const one: Waiting = {
        match: fits,
        found: seen => {
          clearTimeout(late)
          waiting.delete(one)
          resolve(seen as Seen<What>)
        },
      }
      waiting.add(one)
    })
  }

  const look = async () => (await order({ order: 'look' })).open ?? []
  const { port = 0 } = await first.promise
  return {
    url: `http://127.0.0.1:${port}`,
    port,
    happenings,
    script: async (name, ...turns) => void (await order({ order: 'script', name, turns })),
    open: async gate => void (await order({ order: 'open', gate })),
    until,
    seen: async (what, script) => {
      await look()
      const mine = (seen: Happening): boolean =>
        seen.what === what && (script === undefined || ('script' in seen && seen.script === script))
      return happenings.filter(mine) as Extract<Happening, { readonly what: typeof what }>[]
    },
    look,
    listen: async (listener, options = {}) =>
      (await order({ order: 'listen', listener, ...options })).port ?? 0,
    shut: async listener => void (await order({ order: 'shut', listener })),
    forget: async () => {
      await look()
      happenings.length = 0
    },
    stop: async () => {
      if (child.exitCode !== null) return
      child.stdin?.end()
      await once(child, 'exit')
    },
  }
}
