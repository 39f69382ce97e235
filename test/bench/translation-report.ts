/** Tables and figures of the part `translation`: each translation beside the pass-through of its
 *  client format. Pure. */
import { EVENTS } from './answers.ts'
import { figure, median, type Round, type Rounds, table } from './tables.ts'

/** A translation and the pass-through that it is compared with. */
export interface Pair {
  /** Name of the pass-through: the client format to an upstream of the same format. */
  readonly passThrough: string
  /** Name of the translation: to an upstream of another format. */
  readonly translation: string
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
/** µs per event of the upstream: client formats have different numbers of events. */
const perEvent = (round: Round): number => perRequest(round) / EVENTS

const summarize = (rounds: Rounds, name: string, value: (round: Round) => number) => {
  const values = (rounds.get(name) ?? []).map(value)
  return { least: Math.min(...values), middle: median(values) }
}

/** Growth of the peak behind the first tenth of a stream, MiB. Peaks are compared, since the
 *  runtime returns memory at any time. */
export const measureGrowth = (samples: Samples): number => {
  const tenth = Math.ceil(samples.length / 10)
  return (Math.max(...samples.slice(tenth)) - Math.max(...samples.slice(0, tenth))) / 1_024
}
const medianGrowth = ({ long }: Translation, name: string): number =>
  median((long.get(name) ?? []).map(measureGrowth))

export const translationTable = (measurements: Translation): string => {
  const { pairs, plain, streams, long } = measurements
  const row = (name: string, base: string): string[] => {
    const [request, event] = [
      summarize(plain, name, perRequest),
      summarize(streams, name, perEvent),
    ]
    const own = {
      request: summarize(plain, base, perRequest),
      event: summarize(streams, base, perEvent),
    }
    const samples = long.get(name) ?? []
    return [
      name,
      figure(request.middle),
      figure(request.least),
      figure(request.middle / own.request.middle, 2),
      figure(event.middle, 2),
      figure(event.least, 2),
      figure(event.middle - own.event.middle, 2),
      samples.length === 0 ? '' : figure(median(samples.map(each => (each[0] ?? 0) / 1_024)), 0),
      samples.length === 0 ? '' : figure(medianGrowth(measurements, name), 1),
    ]
  }
  return table(
    [
      'client → upstream',
      'CPU µs/request',
      'least',
      '× pass-through',
      'CPU µs/event',
      'least',
      'over pass-through',
      'RSS MiB of a long stream',
      'grown MiB',
    ],
    pairs.flatMap(({ passThrough, translation }) => [
      row(passThrough, passThrough),
      row(translation, passThrough),
    ]),
  )
}

interface Figure {
  readonly text: string
  readonly value: number
  readonly reach: number
}
/** MiB; retaining each of 50,000 events would take at least 10. */
const FLAT = 4
export const translationFigures = (measurements: Translation): Figure[] =>
  measurements.pairs.flatMap(({ passThrough, translation }) => {
    const ratio = (rounds: Rounds, value: (round: Round) => number) =>
      [
        summarize(rounds, translation, value).middle,
        summarize(rounds, passThrough, value).middle,
      ] as const
    const [request, own] = ratio(measurements.plain, perRequest)
    const [event, ownEvent] = ratio(measurements.streams, perEvent)
    return [
      { text: `CPU of ${translation}, × pass-through`, value: request / own, reach: 2 },
      {
        text: `µs per event of ${translation} over pass-through`,
        value: event - ownEvent,
        reach: 12,
      },
      {
        text: `MiB grown in a long stream of ${translation}`,
        value: medianGrowth(measurements, translation),
        reach: FLAT,
      },
    ]
  })
