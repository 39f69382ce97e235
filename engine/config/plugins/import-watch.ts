/** Collects the timers, servers, processes, threads and watchers that modules start while they are
 *  imported, and ends them. */
import { createHook, executionAsyncId } from 'node:async_hooks'
import { setImmediate as nextTurn } from 'node:timers/promises'

/** A resource that a module started. */
export interface StartedResource {
  /** Such as `a timer`. */
  readonly what: string
  /** Of the call in the module, or of the one in the module that led to it. */
  readonly stack: string
}

/** Sockets, servers and watchers close themselves: a handle closed below them can end Node. */
interface Owner {
  close?(): void
  kill?(signal: string): void
}
const ownerOf = (handle: object): Owner => {
  const symbol = Object.getOwnPropertySymbols(handle).find(
    ({ description }) => description === 'owner_symbol',
  )
  return symbol === undefined ? {} : ((handle as Record<symbol, Owner>)[symbol] ?? {})
}
const close = (handle: object): void => ownerOf(handle).close?.()
/** By the type that Node gives a resource, and how it ends. Connections are not here: those that a
 *  finished `fetch` keeps end by themselves. */
const KINDS: Readonly<Record<string, readonly [what: string, end: (handle: object) => void]>> = {
  Timeout: ['a timer', timer => clearTimeout(timer as NodeJS.Timeout)],
  TCPSERVERWRAP: ['a server', close],
  PIPESERVERWRAP: ['a server', close],
  UDPWRAP: ['a UDP socket', close],
  FSEVENTWRAP: ['a file watcher', close],
  PROCESSWRAP: ['a child process', handle => ownerOf(handle).kill?.('SIGKILL')],
  WORKER: ['a worker thread', thread => (thread as { stopThread?(): void }).stopThread?.()],
}
/** Frames of a stack that are read: module code may be deep in it. */
const DEPTH = 60

/** Watches until `end` is called, which also closes what modules have started, except resources
 *  that have already closed. */
export const watchImport = (): { end(): Promise<readonly StartedResource[]> } => {
  /** The stacks of module code, by the resources that began in it or followed from it. */
  const stacks = new Map<number, string>()
  const running = new Map<number, () => void>()
  const started: StartedResource[] = []
  const hook = createHook({
    init(id, type, trigger, resource) {
      const own = stackHere()
      const before = stacks.get(executionAsyncId()) ?? stacks.get(trigger)
      const stack = MODULE_CODE.test(own) ? own : before
      if (stack === undefined) return
      stacks.set(id, stack)
      const [what, end] = KINDS[type] ?? []
      if (what === undefined || !end) return
      if (type === 'Timeout' && isTimerOfNode(own)) return
      const each = { what, stack: `${own}\n${stack}` }
      running.set(id, () => {
        end(resource)
        started.push(each)
      })
    },
    destroy: id => void running.delete(id),
  }).enable()
  const endAll = (): void => {
    for (const end of running.values())
      try {
        end()
      } catch {
        // It is closing already.
      }
    running.clear()
  }
  return {
    async end() {
      endAll()
      // Promises that a module left behind have their turn.
      await nextTurn()
      hook.disable()
      endAll()
      return started
    },
  }
}
/** Of `fetch` and the like, which end with what they are for. */
const isTimerOfNode = (stack: string): boolean => {
  const caller = stack
    .split('\n')
    .slice(1)
    .find(each => !TIMER_CODE.test(each))
  return caller?.includes('node:') === true
}
const TIMER_CODE = /import-watch\.|node:internal\/(?:async_hooks|timers)|node:timers|new Timeout/

const stackHere = (): string => {
  const { stackTraceLimit } = Error
  Error.stackTraceLimit = DEPTH
  const { stack = '' } = new Error('started here')
  Error.stackTraceLimit = stackTraceLimit
  return stack
}
/** Modules and scripts are evaluated in these functions; all other code runs concurrently. */
const MODULE_CODE = /ModuleJob|loadScript/
