/** Medians and tables of the bench. Pure. */
import { type AgentRounds, agentFigures } from './agents/report.ts'
import { budgetFigures } from './budgets/report.ts'
import type { Outcome } from './load.ts'
import {
  figure,
  median,
  perRequest,
  type Round,
  type Rounds,
  ratio,
  type Subject,
  table,
} from './tables.ts'
import { slowdown, type TaskImages } from './tasks/images-report.ts'
import { type Translation, translationFigures } from './translation-report.ts'

export interface OpenTasks {
  readonly count: number
  /** KiB of the tree's Pss, before and after the tasks were added. */
  readonly memory: readonly [before: number, after: number]
  /** Latency of creates before, and with the tasks open. */
  readonly creates: readonly [before: Outcome, after: Outcome]
  /** The share of tasks polled within 1.2 x max(interval, tasks / rate). */
  readonly inTime: number
  readonly pollsPerSecond: number
  /** 99th percentile of the worker's event loop delay while polling, ms. */
  readonly loopDelay: number
}
export interface Findings {
  requests?: Rounds
  latency?: Rounds
  events?: Rounds
  paced?: Rounds
  growth?: Rounds
  ledger?: Rounds
  streamMemory?: readonly StreamMemory[]
  translation?: Translation
  agents?: readonly AgentRounds[]
  tasks?: OpenTasks
  stages?: Rounds
  budgets?: Rounds
  failures?: Rounds
  taskImages?: TaskImages
}

export const tasksTable = ({ count, memory, creates, ...polling }: OpenTasks): string => {
  const [before, after] = creates
  const growth = (memory[1] - memory[0]) / 1024
  const { inTime, pollsPerSecond, loopDelay } = polling
  return table(
    [
      'open tasks',
      'Pss MiB more',
      'polls/s',
      'in time %',
      'create p99 ms before/after',
      'loop p99 ms',
    ],
    [
      [
        String(count),
        figure(growth),
        figure(pollsPerSecond),
        figure(inTime * 100, 1),
        `${figure(before.p99)} / ${figure(after.p99)}`,
        figure(loopDelay),
      ],
    ],
  )
}

export const medianOf = (rounds: Rounds, name: string, value: (round: Round) => number): number =>
  median((rounds.get(name) ?? []).map(value))

export const perEvent = (round: Round): number => (round.cpu * 1e6) / round.events

const spread = (rounds: Rounds, name: string, value: (round: Round) => number): string => {
  const values = (rounds.get(name) ?? []).map(value)
  return `${figure(Math.min(...values))}–${figure(Math.max(...values))}`
}

export const requestsTable = (rounds: Rounds): string =>
  table(
    [
      '64 connections',
      'requests/s',
      'CPU µs/request',
      'min–max',
      '× bare',
      '× row',
      'p50/p99 ms',
      'RSS MiB',
      'failed',
    ],
    [...rounds.keys()].map(name => {
      const direct = name === 'direct'
      return [
        name,
        figure(
          medianOf(rounds, name, round => round.requests / round.seconds),
          0,
        ),
        direct ? '' : figure(medianOf(rounds, name, perRequest)),
        direct ? '' : spread(rounds, name, perRequest),
        direct ? '' : figure(ratio(rounds, name, 'bare'), 2),
        direct ? '' : figure(ratio(rounds, name, 'row'), 2),
        `${figure(
          medianOf(rounds, name, round => round.p50),
          2,
        )} / ${figure(
          medianOf(rounds, name, round => round.p99),
          2,
        )}`,
        direct
          ? ''
          : figure(
              medianOf(rounds, name, round => round.resident / 1024),
              0,
            ),
        figure(
          medianOf(rounds, name, round => round.failed),
          0,
        ),
      ]
    }),
  )

export const latencyTable = (rounds: Rounds, rate: number): string => {
  const addedMs = (name: string, at: 'p50' | 'p99'): number =>
    medianOf(rounds, name, round => round[at]) - medianOf(rounds, 'direct', round => round[at])
  return table(
    [`${rate} requests/s`, 'p50 ms', 'p99 ms', 'added p50 ms', 'added p99 ms', 'CPU µs/request'],
    [...rounds.keys()].map(name => [
      name,
      figure(
        medianOf(rounds, name, round => round.p50),
        3,
      ),
      figure(
        medianOf(rounds, name, round => round.p99),
        3,
      ),
      name === 'direct' ? '' : figure(addedMs(name, 'p50'), 3),
      name === 'direct' ? '' : figure(addedMs(name, 'p99'), 3),
      name === 'direct' ? '' : figure(medianOf(rounds, name, perRequest)),
    ]),
  )
}

export const eventsTable = (rounds: Rounds): string =>
  table(
    ['16 streams at once', 'events/s', 'CPU µs/event', 'min–max', '× row'],
    [...rounds.keys()].map(name => [
      name,
      figure(
        medianOf(rounds, name, round => round.events / round.seconds),
        0,
      ),
      name === 'direct' ? '' : figure(medianOf(rounds, name, perEvent), 2),
      name === 'direct' ? '' : spread(rounds, name, perEvent),
      name === 'direct' ? '' : figure(ratio(rounds, name, 'row', perEvent), 2),
    ]),
  )

/** The table of docs/performance.md. */
export const peersTable = (
  { requests = NO_ROUNDS, latency = NO_ROUNDS, events = NO_ROUNDS }: Findings,
  subjects: readonly Subject[],
  rate: number,
): string =>
  table(
    [
      '',
      'CPU µs/request',
      '× nginx',
      'CPU µs/event',
      `p50 / p99 ms at ${rate}/s`,
      `CPU µs/request at ${rate}/s`,
      'RSS MiB, rest / load',
    ],
    subjects.map(({ name, pid, atRest = Number.NaN }) => {
      const at = (key: 'p50' | 'p99') =>
        figure(
          medianOf(latency, name, round => round[key]),
          2,
        )
      const delays = `${at('p50')} / ${at('p99')}`
      if (pid === undefined) return [name, '', '', '', delays, '', '']
      const load = medianOf(requests, name, ({ resident }) => resident / 1024)
      return [
        name,
        figure(medianOf(requests, name, perRequest)),
        figure(ratio(requests, name, 'nginx')),
        figure(medianOf(events, name, perEvent), 2),
        delays,
        figure(medianOf(latency, name, perRequest), 0),
        `${figure(atRest / 1024, 0)} / ${figure(load, 0)}`,
      ]
    }),
  )
const NO_ROUNDS: Rounds = new Map()

export const pacedTable = (rounds: Rounds, streams: number): string => {
  const added = (name: string, at: 'delay50' | 'delay99'): number =>
    medianOf(rounds, name, round => round[at]) - medianOf(rounds, 'direct', round => round[at])
  return table(
    [
      `${streams} streams, 10 events/s each`,
      'events/s',
      'CPU µs/event',
      '× row',
      'delay p50/p99 ms',
      'added p50/p99 ms',
    ],
    [...rounds.keys()].map(name => {
      const at = (key: 'delay50' | 'delay99') =>
        figure(
          medianOf(rounds, name, round => round[key]),
          2,
        )
      const own = [
        name,
        figure(
          medianOf(rounds, name, round => round.events / round.seconds),
          0,
        ),
      ]
      if (name === 'direct') return [...own, '', '', `${at('delay50')} / ${at('delay99')}`, '']
      return [
        ...own,
        figure(medianOf(rounds, name, perEvent)),
        figure(ratio(rounds, name, 'row', perEvent), 2),
        `${at('delay50')} / ${at('delay99')}`,
        `${figure(added(name, 'delay50'), 2)} / ${figure(added(name, 'delay99'), 2)}`,
      ]
    }),
  )
}

export const growthTable = (rounds: Rounds): string => {
  const [first = ''] = rounds.keys()
  return table(
    ['size', 'CPU µs/request', 'min–max', '× first', 'RSS MiB'],
    [...rounds.keys()].map(name => [
      name,
      figure(medianOf(rounds, name, perRequest)),
      spread(rounds, name, perRequest),
      figure(ratio(rounds, name, first), 2),
      figure(
        medianOf(rounds, name, round => round.resident / 1024),
        0,
      ),
    ]),
  )
}

export interface StreamMemory {
  readonly name: string
  readonly streams: number
  /** KiB a stream. */
  readonly pss: number
  readonly kernel: number
}
export const streamsTable = (streamMemory: readonly StreamMemory[]): string =>
  table(
    ['idle open streams', 'count', 'Pss KiB/stream', 'kernel TCP KiB/stream'],
    streamMemory.map(row => [row.name, String(row.streams), figure(row.pss), figure(row.kernel)]),
  )

/** Compares the findings with their targets: one line each. */
export const verdicts = (findings: Findings): string[] => {
  const { requests, latency, paced, growth, ledger, streamMemory, translation, agents } = findings
  const { taskImages } = findings
  const lines: string[] = []
  const addVerdict = (text: string, value: number, reach: number): void => {
    if (!Number.isNaN(value))
      lines.push(
        `${value <= reach ? 'reached' : 'MISSED '}  ${text}: ${figure(value, 2)} (≤ ${figure(reach, 2)})`,
      )
  }
  if (requests) {
    addVerdict('CPU per request, × bare proxy', ratio(requests, 'tollgate', 'bare'), 1.25)
    addVerdict('CPU billed, × bare proxy with a row', ratio(requests, 'billed', 'row'), 1.35)
  }
  if (latency) {
    const addedMs = (name: string): number =>
      medianOf(latency, name, round => round.p99) - medianOf(latency, 'direct', round => round.p99)
    addVerdict('added p99, ms', addedMs('tollgate'), 1.5 * Math.max(0, addedMs('bare')) + 1)
    addVerdict('added p99 billed, ms', addedMs('billed'), 1.5 * Math.max(0, addedMs('row')) + 1)
  }
  if (paced) {
    const delay = (name: string): number => medianOf(paced, name, round => round.delay99)
    addVerdict('added p99 of events billed, ms', delay('billed') - delay('direct'), 2)
  }
  const reportGrowth = (rounds: Rounds, text: string): void => {
    const [small = '', large = ''] = rounds.keys()
    addVerdict(text, ratio(rounds, large, small), 1.1)
  }
  if (growth) reportGrowth(growth, 'CPU of the large configuration, × small')
  if (ledger) reportGrowth(ledger, 'CPU with full books, × empty')
  const tollgateMemory = streamMemory?.find(row => row.name === 'tollgate')
  if (tollgateMemory) addVerdict('KiB per idle stream', tollgateMemory.pss, 30)
  if (translation)
    for (const { text, value, reach } of translationFigures(translation))
      addVerdict(text, value, reach)
  for (const { text, value, reach } of agentFigures(agents ?? [])) addVerdict(text, value, reach)
  for (const { text, value, reach } of findings.budgets ? budgetFigures(findings.budgets) : [])
    addVerdict(text, value, reach)
  for (const name of ['p50', 'p99'] as const)
    if (taskImages)
      addVerdict(`${name} of calls beside images, × none`, slowdown(taskImages, 'large', name), 1.1)
  if (taskImages) {
    const { burst, backgroundBurst } = taskImages
    addVerdict('silence of a worker, creates of tasks, ms', burst.silence, 100)
    addVerdict('silence of a worker, background responses, ms', backgroundBurst.silence, 100)
  }
  return lines
}
