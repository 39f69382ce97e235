/** Starts machines that share numbers in one store: each is an owner with workers, in one process,
 *  over a store connection that can be cut. */
import type { Test } from 'tap'
import type { Statement, Supply } from '../../../engine/plugin.ts'
import { type Allowances, createAllowances } from '../../../engine/quota/allowance.ts'
import type { Channel } from '../../../engine/quota/channel.ts'
import { createAllowanceOwner } from '../../../engine/quota/counter-owner.ts'
import { createLender, type Lender } from '../../../engine/quota/lender.ts'
import type { OpenDatabase } from '../../../engine/store/database.ts'
import { timeoutsAt } from '../clocks.ts'
import { SILENT_LOG } from './test-server.ts'

/** Two connected channel ends that deliver in a later turn, like IPC. */
export const channelPair = (): [Channel, Channel] => {
  const listeners: [((message: unknown) => void)[], ((message: unknown) => void)[]] = [[], []]
  const end = (own: 0 | 1, other: 0 | 1): Channel => ({
    send: message => {
      const wire = JSON.stringify(message)
      setImmediate(() => {
        for (const listener of listeners[other]) listener(JSON.parse(wire))
      })
    },
    on: listener => void listeners[own].push(listener),
  })
  return [end(0, 1), end(1, 0)]
}

export interface Machine {
  /** Requests `asks` units at once, over its workers in turn. Resolves to the number of
   *  admissions. */
  use(supply: Supply, asks: number, amount?: bigint): Promise<number>
  give(supply: Supply, count: number): void
  spend(supply: Supply, amount: bigint): void
  /** Whether the machine is cut off from the store. */
  isCut: boolean
  /** Number of lists that it sent to the store. */
  readonly lists: number
  /** Ends one of its workers; without a number, all of them and the machine. */
  kill(worker?: number): void
}
export interface MachineOptions {
  readonly workers?: number
  /** Milliseconds between two heartbeats. */
  readonly every?: number
}
const KEY = 'somebody'

export const startMachine = (
  t: Test,
  own: OpenDatabase,
  { workers = 2, every = 1_000 }: MachineOptions = {},
): Machine => {
  const link = { isCut: false, lists: 0 }
  const unless = <T>(act: () => Promise<T>): Promise<T> =>
    link.isCut
      ? Promise.reject(Object.assign(new Error('cut'), { code: 'STORE_UNAVAILABLE' }))
      : act()
  const database = {
    migrate: own.migrate,
    read: (...args: Parameters<OpenDatabase['read']>) => unless(() => own.read(...args)),
    write(list: readonly Statement[]) {
      link.lists++
      return unless(() => own.write(list))
    },
  }
  const owner = createAllowanceOwner({
    machines: { storeTimeout: 10_000, retryDelay: 100, interval: 50 },
  })
  const workerHandles: (Allowances & { readonly lender: Lender })[] = []
  for (let worker = 0; worker < workers; worker++) {
    const [near, far] = channelPair()
    owner.attach(worker, far)
    const lender = createLender({
      database,
      log: SILENT_LOG,
      channel: near,
      timeouts: timeoutsAt(every),
    })
    workerHandles.push({ ...createAllowances(near), lender })
  }
  const living = new Set(workerHandles.keys())
  const open = (supply: Supply, at = 0) => {
    const worker = [...living][at % living.size] ?? 0
    const allowance = workerHandles[worker]?.open('number', supply)
    if (!allowance) throw new Error('nobody is left')
    return allowance
  }
  const kill = (worker: number): void => {
    workerHandles[worker]?.lender.close()
    living.delete(worker)
    owner.detach(worker)
  }
  t.teardown(() => {
    for (const { lender } of workerHandles) lender.close()
    owner.close()
  })
  return {
    async use(supply, asks, amount = 1n) {
      const admissions = await Promise.all(
        Array.from({ length: asks }, async (_, at) => {
          const allowance = open(supply, at)
          return allowance.take(KEY, amount) ?? (await allowance.request(KEY, amount))
        }),
      )
      return admissions.filter(Boolean).length
    },
    give(supply, count) {
      for (let at = 0; at < count; at++) open(supply, at).returnUnits(KEY, 1n)
    },
    spend: (supply, amount) => open(supply).spend(KEY, amount),
    get isCut() {
      return link.isCut
    },
    set isCut(value) {
      link.isCut = value
    },
    get lists() {
      return link.lists
    },
    kill(worker) {
      if (worker !== undefined) return kill(worker)
      for (const each of [...living]) workerHandles[each]?.lender.close()
      owner.close()
    },
  }
}
