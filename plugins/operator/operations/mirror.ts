/** The report on copies of models with `mirror:`. The plugin `mirror` does the work. */
import { object, text } from '../../../engine/config/shape.ts'
import { DURATIONS } from '../../../engine/kit.ts'
import { MIRROR_COLUMNS } from '../../rows/operations.ts'
import { list, object as row } from '../../shapes.ts'
import { partOf } from '../contributions.ts'
import { type Operation, operation } from '../operation.ts'

const DAYS = 30
const DATE = '^[0-9]{4}-(0[1-9]|1[0-2])-(0[1-9]|[12][0-9]|3[01])$'
const dateArgument = (description: string) =>
  text(description, { pattern: DATE, examples: ['2026-11-01'] })
const timeOf = (date: string | undefined): number | undefined =>
  date === undefined ? undefined : Date.parse(date)

const report = operation({
  name: 'mirror report',
  summary: 'Compares calls with their copies: errors, ms, tokens, cost and how alike they were.',
  scope: 'operator',
  reads: true,
  arguments: object(undefined, {
    from: dateArgument('The first day (UTC); 30 days ago by default.'),
    to: dateArgument('The last day (UTC); today by default.'),
  }),
  result: list(row(MIRROR_COLUMNS)),
  command: {
    example: 'tollgate mirror report --from 2026-11-01',
    options: {
      from: { type: 'string', value: 'DATE', summary: 'the first day (UTC)' },
      to: { type: 'string', value: 'DATE', summary: 'the last day (UTC)' },
    },
  },
  async run({ host, now }, { from, to }) {
    const end = timeOf(to) ?? now
    const start = timeOf(from) ?? end - DAYS * DURATIONS.d
    return { data: await partOf(host, 'mirror').report(host, start, end) }
  },
})

export const mirrorOperations: readonly Operation[] = [report]
