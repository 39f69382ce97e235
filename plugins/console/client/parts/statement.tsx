/** The statement of an account for a month: its money before and after, its lines, and files. */
import { STATEMENT_SUMS } from '../../../ledger/views/statement-sums.ts'
import type { AccountStatement, StatementLineRow } from '../../../views.ts'
import { call } from '../api.ts'
import { formatNumber, thisMonth } from '../format.ts'
import { useAction, useData } from '../loading.ts'
import { setQuery } from '../router.ts'
import { type TextKey, text } from '../texts.ts'
import { wholeList } from './list.tsx'
import { Empty, FormError, View } from './states.tsx'
import { type Column, Table } from './table.tsx'
import { tokenColumns } from './usage-columns.tsx'
import { Money, useCurrency } from './values.tsx'

type Statements = { readonly data: readonly AccountStatement[] }
const FILES = { csv: 'text/csv', focus: 'text/csv', html: 'text/html' } as const
type Format = keyof typeof FILES

interface StatementProps {
  readonly query: URLSearchParams
  /** The path of the API with its query, to which the period is added. */
  readonly path: string
}
export const Statement = ({ query, path }: StatementProps) => {
  const month = query.get('month') ?? thisMonth()
  const address = `${path}${path.includes('?') ? '&' : '?'}period=${month}`
  const statements = useData<Statements>(address)
  const [statement] = statements.data?.data ?? []
  return (
    <section aria-label={text('statement')}>
      <div class="filters">
        <label class="row small">
          {text('statement.month')}
          <input
            type="month"
            class="input"
            value={month}
            max={thisMonth()}
            onChange={event => setQuery({ month: event.currentTarget.value })}
          />
        </label>
        {(Object.keys(FILES) as Format[]).map(format => (
          <File key={format} format={format} path={address} month={month} />
        ))}
      </div>
      <View of={statements} rows={6}>
        {() => statement && <Sums of={statement} />}
      </View>
      <Table
        name={`${text('statement')} ${month}`}
        of={wholeList({ ...statements, error: undefined }, statement?.lines)}
        columns={useColumns()}
        keyOf={({ day, model, key, member }) => `${day} ${model} ${key} ${member}`}
        empty={<Empty title={text('statement.empty')} help={text('statement.empty.help')} />}
      />
    </section>
  )
}

const Sums = ({ of: statement }: { of: AccountStatement }) => (
  <dl class="facts">
    {STATEMENT_SUMS.map(name => (
      <>
        <dt>{text(`statement.${name}` as TextKey)}</dt>
        <dd>
          <Money amount={statement[name]} /> {statement.currency}
        </dd>
      </>
    ))}
    {statement.pending > 0 && (
      <>
        <dt>{text('statement.pending')}</dt>
        <dd>{formatNumber(statement.pending)}</dd>
      </>
    )}
  </dl>
)

interface FileProps {
  readonly format: Format
  readonly path: string
  readonly month: string
}
const File = ({ format, path, month }: FileProps) => {
  const action = useAction(async () => {
    const { data } = await call<Statements>('GET', `${path}&format=${format}`)
    const content = data.map(each => each.text ?? '')
    const link = document.createElement('a')
    link.href = URL.createObjectURL(new Blob(['\ufeff', ...content], { type: FILES[format] }))
    link.download = `statement-${month}${format === 'focus' ? '-focus' : ''}.${format === 'html' ? 'html' : 'csv'}`
    link.click()
    URL.revokeObjectURL(link.href)
  })
  return (
    <>
      <button type="button" class="button tiny" onClick={action.start} aria-busy={action.isBusy}>
        {text(`statement.file.${format}`)}
      </button>
      <FormError error={action.error} fields={[]} />
    </>
  )
}

const useColumns = (): readonly Column<StatementLineRow>[] => {
  const currency = useCurrency()
  const money = (title: TextKey, of: (line: StatementLineRow) => string, isWide: boolean) => ({
    title: `${text(title)} (${currency})`,
    cell: (line: StatementLineRow) => <Money amount={of(line)} />,
    csv: of,
    isNumber: true,
    isWide,
  })
  return [
    { title: text('column.day'), cell: ({ day }) => <span class="nowrap">{day}</span> },
    { title: text('column.model'), cell: ({ model }) => <span class="ellipsis">{model}</span> },
    {
      title: text('column.key'),
      cell: ({ key }) => (key === null ? text('usage.console') : `#${key}`),
      isWide: true,
    },
    { title: text('column.member'), cell: ({ member_name: name }) => name ?? '', isWidest: true },
    { title: text('column.calls'), cell: ({ calls }) => formatNumber(calls), isNumber: true },
    ...tokenColumns<StatementLineRow>(),
    money('column.refunded', ({ refunded }) => refunded, true),
    money('column.amount', ({ amount }) => amount, false),
  ]
}
