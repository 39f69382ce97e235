/** Credits, debits and refunds of an account, latest first. */
import type { CreditRow } from '../../../views.ts'
import { hrefOf } from '../router.ts'
import { text, textOr } from '../texts.ts'
import { Empty } from './states.tsx'
import { type Column, column, envelopePage, Table, useRows } from './table.tsx'
import { Time, useCurrency } from './values.tsx'

/** `path`: of the API, with its query. */
export const Credits = ({ path, round = 0 }: { path: string; round?: number }) => (
  <Table
    name={text('credits')}
    of={useRows<CreditRow>(path, envelopePage, round)}
    columns={columnsOf(useCurrency())}
    keyOf={({ id }) => id}
    empty={<Empty title={text('credits.empty')} help={text('credits.empty.help')} />}
  />
)

const columnsOf = (currency: string): readonly Column<CreditRow>[] => [
  { title: text('column.time'), cell: ({ at }) => <Time at={at} />, csv: ({ at }) => at },
  {
    title: text('column.kind'),
    cell: ({ kind }) => textOr(`credits.${kind}`, kind),
    csv: ({ kind }) => kind,
  },
  {
    title: text('column.note'),
    cell: ({ note, request }) =>
      request === null ? (
        <span class="ellipsis" title={note}>
          {note}
        </span>
      ) : (
        <a class="ellipsis" href={hrefOf('call', request)} title={note}>
          {note || request}
        </a>
      ),
    csv: ({ note, request }) => note || request,
    isWide: true,
  },
  column(`${text('column.amount')} (${currency})`, ({ amount }) => amount, 'money'),
]
