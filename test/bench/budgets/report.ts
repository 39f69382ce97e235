/** The table of the part `budgets`, and what two budgets add to a call. Pure. */
import { figure, median, perRequest, type Round, type Rounds, table } from '../tables.ts'
import { NONE } from './configuration.ts'

/** CPU µs that a call costs more than one without budgets, within each round. */
const added = (rounds: Rounds, name: string): readonly number[] => {
  const without: readonly Round[] = rounds.get(NONE) ?? []
  return (rounds.get(name) ?? []).flatMap((round, at) => {
    const other = without[at]
    return other ? [perRequest(round) - perRequest(other)] : []
  })
}
export const budgetsTable = (rounds: Rounds): string => {
  const rows = [...rounds].map(([name, list]) => {
    const more = added(rounds, name)
    return [
      name,
      figure(median(list.map(perRequest))),
      ...(name === NONE
        ? ['', '']
        : [figure(median(more)), `${figure(Math.min(...more))}–${figure(Math.max(...more))}`]),
      figure(median(list.map(({ p99 }) => p99)), 2),
      String(list.reduce((sum, { failed }) => sum + failed, 0)),
    ]
  })
  const head = ['budgets of a call', 'CPU µs/request', 'added', 'range', 'p99 ms', 'failed']
  return table(head, rows)
}
/** With its target. */
export const budgetFigures = (rounds: Rounds) => [
  { text: 'CPU of two budgets, µs', value: median(added(rounds, 'two')), reach: 10 },
]
