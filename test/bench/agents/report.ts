/** The table and the figures of the part `agents`. Pure. */
import { figure, median, perRequest, type Rounds, ratio, table } from '../tables.ts'

/** Subjects of the translation: a target of the client's own format, and one of another. */
export const IDENTITY = 'same format'
export const TRANSLATED = 'translated'

export interface AgentRounds {
  /** Of a request body. */
  readonly size: string
  readonly plain: Rounds
  readonly streams: Rounds
  readonly translation: Rounds
}

const cell = (rounds: Rounds, name: string, to: string): string => {
  const cost = median((rounds.get(name) ?? []).map(perRequest))
  if (!Number.isFinite(cost)) return ''
  return name === to
    ? figure(cost, 0)
    : `${figure(cost, 0)} (${figure(ratio(rounds, name, to), 2)})`
}
const COLUMNS = [
  ['bare', 'bare'],
  ['tollgate', 'bare'],
  ['row', 'row'],
  ['billed', 'row'],
] as const

export const agentsTable = (measured: readonly AgentRounds[]): string =>
  table(
    ['CPU µs/request (× the one before)', ...COLUMNS.map(([name]) => name), IDENTITY, TRANSLATED],
    measured.flatMap(({ size, plain, streams, translation }) => [
      [
        size,
        ...COLUMNS.map(([name, to]) => cell(plain, name, to)),
        cell(translation, IDENTITY, IDENTITY),
        cell(translation, TRANSLATED, IDENTITY),
      ],
      [`${size}, streamed`, ...COLUMNS.map(([name, to]) => cell(streams, name, to)), '', ''],
    ]),
  )

interface Figure {
  readonly text: string
  readonly value: number
  readonly reach: number
}
export const agentFigures = (measured: readonly AgentRounds[]): Figure[] =>
  measured.flatMap(({ size, plain, translation }) => [
    { text: `CPU of ${size}, × bare`, value: ratio(plain, 'tollgate', 'bare'), reach: 1.15 },
    { text: `CPU of ${size} billed, × row`, value: ratio(plain, 'billed', 'row'), reach: 1.25 },
    {
      text: `CPU of ${size} translated, × same format`,
      value: ratio(translation, TRANSLATED, IDENTITY),
      reach: 1.6,
    },
  ])
