/** Medians and tables of the bench. Pure. */
import { figure, median, type Round, type Rounds, table } from './tables.ts'
import { type Translation, translationFigures } from './translation-report.ts'

export interface Findings {
  requests?: Rounds
  latency?: Rounds
  events?: Rounds
  growth?: Rounds
  ledger?: Rounds
  held?: readonly Held[]
  translation?: Translation
}

const of = (rounds: Rounds, name: string, value: (round: Round) => number): number =>
  median((rounds.get(name) ?? []).map(value))

/** Of two subjects in the same round, and of all rounds the middle. */
const ratio = (rounds: Rounds, name: string, to: string): number => {
  const others = rounds.get(to) ?? []
  const pairs = (rounds.get(name) ?? []).flatMap((round, at) => {
    const other = others[at]
    return other ? [perRequest(round) / perRequest(other)] : []
  })
  return median(pairs)
}

const perRequest = (round: Round): number => (round.cpu * 1e6) / round.requests
const perEvent = (round: Round): number => (round.cpu * 1e6) / round.events

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
          of(rounds, name, round => round.requests / round.seconds),
          0,
        ),
        direct ? '' : figure(of(rounds, name, perRequest)),
        direct ? '' : spread(rounds, name, perRequest),
        direct ? '' : figure(ratio(rounds, name, 'bare'), 2),
        direct ? '' : figure(ratio(rounds, name, 'row'), 2),
        `${figure(
          of(rounds, name, round => round.p50),
          2,
        )} / ${figure(
          of(rounds, name, round => round.p99),
          2,
        )}`,
        direct
          ? ''
          : figure(
              of(rounds, name, round => round.resident / 1024),
              0,
            ),
        figure(
          of(rounds, name, round => round.failed),
          0,
        ),
      ]
    }),
  )

export const latencyTable = (rounds: Rounds, rate: number): string => {
  const added = (name: string, at: 'p50' | 'p99'): number =>
    of(rounds, name, round => round[at]) - of(rounds, 'direct', round => round[at])
  return table(
    [`${rate} requests/s`, 'p50 ms', 'p99 ms', 'added p50 ms', 'added p99 ms', 'CPU µs/request'],
    [...rounds.keys()].map(name => [
      name,
      figure(
        of(rounds, name, round => round.p50),
        3,
      ),
      figure(
        of(rounds, name, round => round.p99),
        3,
      ),
      name === 'direct' ? '' : figure(added(name, 'p50'), 3),
      name === 'direct' ? '' : figure(added(name, 'p99'), 3),
      name === 'direct' ? '' : figure(of(rounds, name, perRequest)),
    ]),
  )
}

export const eventsTable = (rounds: Rounds): string =>
  table(
    ['16 streams at once', 'events/s', 'CPU µs/event', 'min–max'],
    [...rounds.keys()].map(name => [
      name,
      figure(
        of(rounds, name, round => round.events / round.seconds),
        0,
      ),
      name === 'direct' ? '' : figure(of(rounds, name, perEvent), 2),
      name === 'direct' ? '' : spread(rounds, name, perEvent),
    ]),
  )

export const growthTable = (rounds: Rounds): string => {
  const [first = ''] = rounds.keys()
  return table(
    ['size', 'CPU µs/request', 'min–max', '× first', 'RSS MiB'],
    [...rounds.keys()].map(name => [
      name,
      figure(of(rounds, name, perRequest)),
      spread(rounds, name, perRequest),
      figure(ratio(rounds, name, first), 2),
      figure(
        of(rounds, name, round => round.resident / 1024),
        0,
      ),
    ]),
  )
}

export interface Held {
  readonly name: string
  readonly streams: number
  /** KiB a stream. */
  readonly resident: number
  readonly kernel: number
}
export const streamsTable = (held: readonly Held[]): string =>
  table(
    ['idle open streams', 'count', 'RSS KiB/stream', 'kernel TCP KiB/stream'],
    held.map(row => [row.name, String(row.streams), figure(row.resident), figure(row.kernel)]),
  )

/** The figures to reach, and whether they were. */
export const verdicts = (found: Findings): string[] => {
  const { requests, latency, growth, ledger, held, translation } = found
  const lines: string[] = []
  const say = (text: string, value: number, reach: number): void => {
    if (!Number.isNaN(value))
      lines.push(
        `${value <= reach ? 'reached' : 'MISSED '}  ${text}: ${figure(value, 2)} (≤ ${figure(reach, 2)})`,
      )
  }
  if (requests) {
    say('CPU per request, × bare proxy', ratio(requests, 'tollgate', 'bare'), 1.25)
    say('CPU billed, × bare proxy with a row', ratio(requests, 'billed', 'row'), 1.35)
  }
  if (latency) {
    const added = (name: string): number =>
      of(latency, name, round => round.p99) - of(latency, 'direct', round => round.p99)
    say('added p99, ms', added('tollgate'), 1.5 * Math.max(0, added('bare')) + 1)
    say('added p99 billed, ms', added('billed'), 1.5 * Math.max(0, added('row')) + 1)
  }
  const grown = (rounds: Rounds, text: string): void => {
    const [small = '', large = ''] = rounds.keys()
    say(text, ratio(rounds, large, small), 1.1)
  }
  if (growth) grown(growth, 'CPU of the large configuration, × small')
  if (ledger) grown(ledger, 'CPU with full books, × empty')
  const own = held?.find(row => row.name === 'tollgate')
  if (own) say('KiB per idle stream', own.resident + own.kernel, 64)
  if (translation)
    for (const { text, value, reach } of translationFigures(translation)) say(text, value, reach)
  return lines
}
