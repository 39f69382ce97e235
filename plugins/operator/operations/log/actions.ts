/** The operations on the log of actions. */
import { readFileSync } from 'node:fs'
import { instantIn, textOf, UsageError } from '../../../../engine/cli/kit.ts'
import { object, oneOf, text } from '../../../../engine/config/shape.ts'
import { headsIn } from '../../../action-log/heads.ts'
import { LATEST, rowOf, SPAN } from '../../../action-log/statements.ts'
import { FORMATS, lineOf, viewOf } from '../../../action-log/texts.ts'
import { verifyActions } from '../../../action-log/verify.ts'
import { ACTION_COLUMNS, ACTION_REPORT } from '../../../rows/operations.ts'
import { integer, list as listOf, object as row, text as word } from '../../../shapes.ts'
import type { ActionReport } from '../../../views.ts'
import { CURSOR, LIMIT } from '../../arguments.ts'
import { queryFault } from '../../faults.ts'
import { type CommandInput, type Operation, operation } from '../../operation.ts'

const USUAL = 100
const PAGE = 1_000
const time = (description: string) => text(description, { maxLength: 40 })
const SPAN_ARGUMENTS = {
  from: time('Since this date or time.'),
  to: time('Before this date or time.'),
}
const SPAN_OPTIONS = {
  from: { type: 'string', value: 'TIME', summary: 'since this date or time' },
  to: { type: 'string', value: 'TIME', summary: 'before this date or time' },
} as const
interface Span {
  readonly from?: string
  readonly to?: string
}
/** ms since 1970. */
const spanOf = ({ from, to }: Span): readonly [from: number, to: number] => {
  const instant = (name: string, value: string | undefined, usual: number): number => {
    const at = value === undefined ? usual : instantIn(value)
    if (Number.isNaN(at))
      throw queryFault(name, 'a date such as 2030-01-31, or a time such as 2030-01-31T12:00:00Z')
    return at
  }
  return [instant('from', from, 0), instant('to', to, Number.MAX_SAFE_INTEGER)]
}
const textsIn = <Name extends string>(
  values: CommandInput['values'],
  names: readonly Name[],
): Partial<Record<Name, string>> =>
  Object.fromEntries(
    names.flatMap(name => {
      const value = textOf(values[name])
      return value === undefined ? [] : [[name, value]]
    }),
  ) as Partial<Record<Name, string>>
/** The number in a cursor. */
const markIn = (cursor: string | undefined, first: number): number => {
  if (cursor === undefined) return first
  if (/^\d{1,15}$/.test(cursor)) return Number(cursor)
  throw queryFault('cursor', '`next` of the page before')
}

const list = operation({
  name: 'actions list',
  summary: 'Lists actions, latest first: who changed or saw what, and from where.',
  scope: 'operator',
  reads: true,
  arguments: object(undefined, {
    operation: text('An operation such as `keys create`, or its noun.', { maxLength: 64 }),
    object: text('What was changed, such as `account 7`.', { maxLength: 500 }),
    actor: text('The name of who acted.', { maxLength: 500 }),
    ...SPAN_ARGUMENTS,
    limit: LIMIT,
    cursor: CURSOR,
  }),
  result: listOf(row(ACTION_COLUMNS)),
  command: {
    example: 'tollgate actions list --operation keys --from 2026-11-01',
    options: {
      operation: { type: 'string', value: 'NAME', summary: 'only this operation, or this noun' },
      object: { type: 'string', value: 'TEXT', summary: 'only this object, such as "account 7"' },
      actor: { type: 'string', value: 'NAME', summary: 'only this actor' },
      ...SPAN_OPTIONS,
    },
    isFirstPage: true,
    print: actions => ({
      rows: actions.map(each => ({
        seq: each.seq,
        at: each.at,
        actor: each.user === null ? each.actor : `${each.actor} (${each.user})`,
        via: each.credential ?? each.via,
        address: each.address,
        operation: each.operation,
        object: each.object,
      })),
      json: actions,
    }),
  },
  async run({ store }, { operation: name = null, object: what = null, actor = null, ...page }) {
    const { limit = USUAL, cursor } = page
    const rows = await store.read(LATEST, [
      name,
      name,
      name === null ? null : `${name.replace(/[!%_]/g, '!$&')} %`,
      what,
      what,
      actor,
      actor,
      ...spanOf(page),
      markIn(cursor, Number.MAX_SAFE_INTEGER),
      limit,
    ])
    const actions = rows.map(each => viewOf(rowOf(each)))
    return { data: actions, next: rows.length === limit ? String(actions.at(-1)?.seq) : null }
  },
})

const exportAll = operation({
  name: 'actions export',
  summary: 'Writes actions as lines of JSON or CEF, earliest first, for log collectors.',
  scope: 'operator',
  reads: true,
  arguments: object(undefined, {
    format: oneOf('jsonl (default) or cef.', FORMATS),
    ...SPAN_ARGUMENTS,
    cursor: CURSOR,
  }),
  result: listOf(row({ seq: integer, line: word })),
  command: {
    example: 'tollgate actions export --format cef > actions.cef',
    options: {
      format: { type: 'string', value: 'WORD', summary: 'jsonl (default) or cef' },
      ...SPAN_OPTIONS,
    },
    read({ values }) {
      const { format, ...span } = textsIn(values, ['format', 'from', 'to'])
      const known = FORMATS.find(each => each === format)
      if (format !== undefined && !known)
        throw new UsageError(`--format must be one of ${FORMATS.join(', ')}`)
      return { ...span, ...(known && { format: known }) }
    },
    print: (lines: readonly { readonly line: string }[]) => ({
      text: lines.map(({ line }) => line).join('\n'),
    }),
  },
  async run({ store }, { format = 'jsonl', cursor, ...span }) {
    const rows = await store.read(SPAN, [markIn(cursor, 0), ...spanOf(span), PAGE])
    const lines = rows
      .map(rowOf)
      .map(each => ({ seq: each.seq, line: lineOf(viewOf(each), format) }))
    return { data: lines, next: rows.length === PAGE ? String(lines.at(-1)?.seq) : null }
  },
})

const verify = operation({
  name: 'actions verify',
  summary: 'Verifies the log of actions: finds rows that are missing, changed or cut off.',
  scope: 'operator',
  reads: true,
  arguments: object(undefined, {
    heads: text('Published heads, beside those of this machine: lines of JSON.', {
      maxLength: 1_000_000,
    }),
  }),
  result: ACTION_REPORT,
  command: {
    example: 'tollgate actions verify --heads heads.log',
    options: {
      heads: {
        type: 'string',
        value: 'FILE',
        summary: 'a file with published heads: lines of the log, or what the webhook received',
      },
    },
    read({ values }) {
      const path = textOf(values.heads)
      if (path === undefined) return {}
      try {
        return { heads: readFileSync(path, 'utf8') }
      } catch (error) {
        throw new UsageError(`--heads: ${(error as Error).message}`)
      }
    },
    print: report => ({
      text: printReport(report),
      json: report,
      exit: report.intact ? 0 : 1,
    }),
  },
  run: async ({ host }, { heads = '' }) => ({ data: await verifyActions(host, headsIn(heads)) }),
})
const printReport = ({ intact, rows, last, deleted, heads, findings }: ActionReport): string =>
  [
    `${rows} actions, the last is ${last}${deleted > 0 ? `, up to ${deleted} deleted by age` : ''}`,
    heads > 0
      ? `compared with ${heads} published heads`
      : 'no published head is known here: a cut tail cannot be seen',
    ...findings.map(({ kind, detail }) => `${kind}: ${detail}`),
    intact ? 'the log is intact' : 'the log is NOT intact',
  ].join('\n')

/** In the order of the help. */
export const actionOperations: readonly Operation[] = [list, exportAll, verify]
