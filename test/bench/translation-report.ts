/** Tables and figures of the part `translation`: each crossing beside its client's identity. Pure. */
import { EVENTS } from './answers.ts'
import { figure, median, type Round, type Rounds, table } from './tables.ts'

/** One of the two streams and plain answers that are compared. */
export interface Pair {
  /** The client's format to an upstream of its own, as rounds name it. */
  readonly identity: string
  /** To an upstream of another. */
  readonly crossed: string
}
/** A long stream: KiB of the worker, sampled from its beginning to its end. */
export type Samples = readonly number[]
export interface Translation {
  readonly pairs: readonly Pair[]
  readonly plain: Rounds
  readonly streams: Rounds
  /** Name -> a list of samples for each round. */
  readonly long: ReadonlyMap<string, readonly Samples[]>
}

/** µs. */
const perRequest = (round: Round): number => (round.cpu * 1e6) / round.requests
/** Of what the upstream sent: each format tells it in a number of events of its own. */
const perEvent = (round: Round): number => perRequest(round) / EVENTS

const of = (rounds: Rounds, name: string, value: (round: Round) => number) => {
  const values = (rounds.get(name) ?? []).map(value)
  return { least: Math.min(...values), middle: median(values) }
}

/** What a stream needs more behind its first tenth than within it, in MiB: peak beside peak, since the runtime gives memory back when it likes. */
export const grown = (samples: Samples): number => {
  const tenth = Math.ceil(samples.length / 10)
  return (Math.max(...samples.slice(tenth)) - Math.max(...samples.slice(0, tenth))) / 1_024
}
const grownOf = ({ long }: Translation, name: string): number =>
  median((long.get(name) ?? []).map(grown))

export const translationTable = (found: Translation): string => {
  const { pairs, plain, streams, long } = found
  const row = (name: string, base: string): string[] => {
    const [request, event] = [of(plain, name, perRequest), of(streams, name, perEvent)]
    const own = { request: of(plain, base, perRequest), event: of(streams, base, perEvent) }
    const samples = long.get(name) ?? []
    return [
      ...[name, figure(request.middle), figure(request.least)],
      figure(request.middle / own.request.middle, 2),
      ...[figure(event.middle, 2), figure(event.least, 2)],
      figure(event.middle - own.event.middle, 2),
      samples.length === 0 ? '' : figure(median(samples.map(each => (each[0] ?? 0) / 1_024)), 0),
      samples.length === 0 ? '' : figure(grownOf(found, name), 1),
    ]
  }
  return table(
    [
      ...['client → upstream', 'CPU µs/request', 'least', '× identity'],
      ...['CPU µs/event', 'least', 'over identity'],
      ...['RSS MiB of a long stream', 'grown MiB'],
    ],
    pairs.flatMap(({ identity, crossed }) => [row(identity, identity), row(crossed, identity)]),
  )
}

interface Figure {
  readonly text: string
  readonly value: number
  readonly reach: number
}
/** MiB: a kept event of 50,000 is 10, whatever else it drags along. */
const FLAT = 4
export const translationFigures = (found: Translation): Figure[] =>
  found.pairs.flatMap(({ identity, crossed }) => {
    const ratio = (rounds: Rounds, value: (round: Round) => number) =>
      [of(rounds, crossed, value).middle, of(rounds, identity, value).middle] as const
    const [request, own] = ratio(found.plain, perRequest)
    const [event, ownEvent] = ratio(found.streams, perEvent)
    return [
      { text: `CPU of ${crossed}, × identity`, value: request / own, reach: 2 },
      { text: `µs per event of ${crossed} over identity`, value: event - ownEvent, reach: 12 },
      {
        text: `MiB grown in a long stream of ${crossed}`,
        value: grownOf(found, crossed),
        reach: FLAT,
      },
    ]
  })
