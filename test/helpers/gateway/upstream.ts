/** Starts a scripted upstream in its own process; sends it scripts and receives its events. */
import { once } from 'node:events'
import type { Answer, Happening, Order, Step } from '../../fixtures/upstream/script.ts'
import { scaled } from '../machine-speed.ts'
import { forkProgram } from '../operator.ts'

export type EventOf<Kind extends Happening['what']> = Extract<Happening, { readonly what: Kind }>

export interface Upstream {
  readonly url: string
  readonly port: number
  /** All events so far, in order. Call `look` first where a test expects that one is absent. */
  readonly allEvents: readonly Happening[]
  /** The n-th request to this script takes the n-th turn; the last turn repeats. `port:name` for
   *  one listener. */
  script(name: string, ...turns: readonly (readonly Step[])[]): Promise<void>
  /** Opens a gate for every connection that waits, or will wait, at it. */
  open(gate: string): Promise<void>
  /** The first event, past or future, that matches. */
  until<Kind extends Happening['what']>(
    what: Kind,
    match?: (happening: EventOf<Kind>) => boolean,
  ): Promise<EventOf<Kind>>
  /** All events of one kind (and script) up to now. */
  events<Kind extends Happening['what']>(
    what: Kind,
    script?: string,
  ): Promise<readonly EventOf<Kind>[]>
  /** Open connections, and how many written bytes the kernel accepted. */
  look(): Promise<NonNullable<Answer['open']>>
  /** Opens one more port of the same process. */
  listen(listener: string, options?: { port?: number; greet?: string }): Promise<number>
  /** Closes a port and all its connections. */
  shut(listener: string): Promise<void>
  /** Drops all events up to now, including those still on their way. */
  forget(): Promise<void>
  stop(): Promise<void>
}

interface Waiting {
  readonly match: (happening: Happening) => boolean
  readonly onMatch: (happening: Happening) => void
}

const PATIENCE = scaled(60_000)

export const startUpstream = async (): Promise<Upstream> => {
  const child = forkProgram(new URL('../../fixtures/upstream/scripted.ts', import.meta.url), [], {
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
    for (const one of waiting) if (one.match(message)) one.onMatch(message)
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

  const until = <Kind extends Happening['what']>(
    what: Kind,
    match: (happening: EventOf<Kind>) => boolean = () => true,
  ): Promise<EventOf<Kind>> => {
    const fits = (happening: Happening): boolean =>
      happening.what === what && match(happening as EventOf<Kind>)
    const past = happenings.find(fits)
    if (past) return Promise.resolve(past as EventOf<Kind>)
    return new Promise((resolve, reject) => {
      const late = setTimeout(() => {
        waiting.delete(one)
        reject(new Error(`the upstream never saw: ${what}`))
      }, PATIENCE)
      const one: Waiting = {
        match: fits,
        onMatch: happening => {
          clearTimeout(late)
          waiting.delete(one)
          resolve(happening as EventOf<Kind>)
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
    allEvents: happenings,
    script: async (name, ...turns) => void (await order({ order: 'script', name, turns })),
    open: async gate => void (await order({ order: 'open', gate })),
    until,
    events: async (what, script) => {
      await look()
      const mine = (happening: Happening): boolean =>
        happening.what === what &&
        (script === undefined || ('script' in happening && happening.script === script))
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
