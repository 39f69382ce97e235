/** Measures the part `failures`: calls that the upstream refuses, and billed calls beside as many
 *  refused ones, with the rows of failed calls and without them, in turns. */
import { REFUSED, requestBody } from '../answers.ts'
import { PATH } from '../gateway.ts'
import type { Job } from '../load.ts'
import { interleave, type Load, requestOf } from '../rounds.ts'
import type { Rounds, Subject } from '../tables.ts'

/** Sections `failed_calls:` by what they keep of the failed calls of the bench: a row a minute, and
 *  as many as the store takes. */
export const SECTIONS = { 'no rows': { rate: '1/min' }, rows: { rate: '1000000/s' } } as const
export type RowsName = keyof typeof SECTIONS

interface Sizes {
  readonly rounds: number
  readonly seconds: number
  readonly slices: number
}
export const measureFailures = (
  gateways: Readonly<Record<RowsName, Subject>>,
  load: Load,
  { rounds, seconds, slices }: Sizes,
): Promise<Rounds> => {
  const subjects = (['refused', 'beside refused'] as const).flatMap(kind =>
    (Object.keys(SECTIONS) as RowsName[]).map(rowsName => ({
      ...gateways[rowsName],
      name: `${kind}, ${rowsName}`,
      kind,
    })),
  )
  const kinds = new Map(subjects.map(({ name, kind }) => [name, kind]))
  const job = (subject: Subject): Job => {
    const refused = requestOf(subject, PATH, requestBody('plain', REFUSED))
    const calls =
      kinds.get(subject.name) === 'refused'
        ? { request: refused, status: 400 }
        : { request: requestOf(subject, PATH, requestBody('plain')), beside: refused }
    return { port: subject.port, connections: 64, seconds, ...calls }
  }
  return interleave(subjects, load, rounds, job, slices)
}
