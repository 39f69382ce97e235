/** A table of a list of the API: loaded page by page with cursors as it is scrolled, with only the
 *  visible rows in the document, and exported as CSV. */
import { Component, type ComponentChildren } from 'preact'
import { useEffect, useLayoutEffect, useRef, useState } from 'preact/hooks'
import { csvCell } from '../../../ledger/views/csv.ts'
import type { ApiError } from '../api.ts'
import { call } from '../api.ts'
import { toApiError } from '../loading.ts'
import { text } from '../texts.ts'
import { ErrorState, Skeleton } from './states.tsx'
import { AccountLink, Id, Money, type Owned, State, Time } from './values.tsx'

export interface Column<Row> {
  readonly title: string
  cell(row: Row): ComponentChildren
  /** The value in the CSV; without it the column is not exported. */
  csv?(row: Row): string | number | null | undefined
  readonly isNumber?: boolean
  /** Buttons: stays visible while the other columns scroll. */
  readonly isActions?: boolean
  /** Left out on narrow screens, 920 px. */
  readonly isWide?: boolean
  /** Left out below 1420 px. */
  readonly isWidest?: boolean
  /** Left out below 1700 px: for tables with more columns than a usual screen shows. */
  readonly isExtra?: boolean
  /** The value of the parameter `sort` that orders the list by this column. */
  readonly sort?: string
}
type Cell = string | number | null | undefined
const CELLS = {
  plain: (value: Cell) => value,
  code: (value: Cell) => <code>{value}</code>,
  ellipsis: (value: Cell) => (
    <span class="ellipsis" title={String(value ?? '')}>
      {value}
    </span>
  ),
  id: (value: Cell) => <Id id={String(value)} />,
  money: (value: Cell) => <Money amount={value ?? 0} />,
  state: (value: Cell) => <State state={String(value)} />,
  time: (value: Cell) => <Time at={value} />,
} as const
/** A column of one value, also in the CSV. */
export const column = <Row,>(
  title: string,
  csv: (row: Row) => Cell,
  kind: keyof typeof CELLS = 'plain',
  more: Partial<Column<Row>> = {},
): Column<Row> => ({
  title,
  csv,
  cell: row => CELLS[kind](csv(row)),
  ...(kind === 'money' && { isNumber: true }),
  ...more,
})

/** The account of a row, for operators: its name, in the CSV too. */
export const accountColumn = <Row extends Owned>(): Column<Row> => ({
  title: text('column.account'),
  cell: row => <AccountLink of={row} />,
  csv: ({ account, account_name: name }) => name ?? account,
  isWide: true,
})

export interface Sorting {
  readonly by: string
  readonly order: 'asc' | 'desc'
  onSort(by: string, order: 'asc' | 'desc'): void
}
interface Page<Row> {
  readonly rows: readonly Row[]
  /** The path of the next page. */
  readonly next: string | undefined
}
/** Reads a page of the list at `path`. */
export type ReadPage<Row> = (body: unknown, path: string) => Page<Row>

/** The envelope of the gateway: `data`, and `next` for the parameter `cursor`. */
export const envelopePage = <Row,>(body: unknown, path: string): Page<Row> => {
  const { data, next } = body as { readonly data: readonly Row[]; readonly next?: string | null }
  return { rows: data, next: next ? withParameter(path, 'cursor', next) : undefined }
}
/** A list of OpenAI's API: the parameter `after`. */
export const openaiPage = <Row,>(body: unknown, path: string): Page<Row> => {
  const list = body as { data: readonly (Row & { id: string })[]; has_more?: boolean }
  const last = list.data.at(-1)?.id
  const next = list.has_more && last ? withParameter(path, 'after', last) : undefined
  return { rows: list.data, next }
}
const withParameter = (path: string, name: string, value: string): string => {
  const [base = '', search = ''] = path.split('?')
  const query = new URLSearchParams(search)
  query.set(name, value)
  return `${base}?${query}`
}

interface Rows<Row> {
  readonly rows: readonly Row[] | undefined
  readonly error: ApiError | undefined
  readonly isSlow: boolean
  readonly hasMore: boolean
  loadMore(): void
  reload(): void
}
const SLOW = 150
/** The rows of a list so far. `round`: a change loads the list again. */
export const useRows = <Row,>(path: string, read: ReadPage<Row>, round = 0): Rows<Row> => {
  const [pages, setPages] = useState<{ path: string; list: readonly Page<Row>[] }>()
  const [error, setError] = useState<ApiError>()
  const [isSlow, setSlow] = useState(false)
  const [own, setOwn] = useState(0)
  const isBusy = useRef(false)
  const load = (from: string, before: readonly Page<Row>[], signal?: AbortSignal) => {
    isBusy.current = true
    const timer = setTimeout(() => setSlow(true), SLOW)
    call('GET', from, signal && { signal })
      .then(body => {
        setError(undefined)
        setPages({ path, list: [...before, read(body, from)] })
      })
      .catch(error => {
        if (!signal?.aborted) setError(toApiError(error))
      })
      .finally(() => {
        clearTimeout(timer)
        setSlow(false)
        isBusy.current = false
      })
  }
  useEffect(() => {
    const abort = new AbortController()
    load(path, [], abort.signal)
    return () => abort.abort()
  }, [path, round, own])
  const list = pages?.path === path ? pages.list : undefined
  const next = list?.at(-1)?.next
  return {
    rows: list?.flatMap(({ rows }) => rows),
    error,
    isSlow,
    hasMore: next !== undefined,
    loadMore: () => {
      if (next !== undefined && list && !isBusy.current) load(next, list)
    },
    reload: () => setOwn(own => own + 1),
  }
}

interface TableProps<Row> {
  /** Names the table for screen readers, and the CSV file. */
  readonly name: string
  readonly of: Rows<Row>
  readonly columns: readonly Column<Row>[]
  keyOf(row: Row): string | number
  hrefOf?(row: Row): string | undefined
  readonly empty: ComponentChildren
  /** Rows of different heights: all of them stay in the document. */
  readonly isTall?: boolean
  readonly sorting?: Sorting
  /** Where the server writes the whole list as CSV. Without it the loaded rows are exported. */
  readonly csvHref?: string
}
const ROW_HEIGHT = 41
/** Rows beyond the screen that stay in the document. */
const MARGIN = 24
const ALL_BELOW = 120

export const Table = <Row,>(props: TableProps<Row>) => {
  const { name, of, columns, keyOf, hrefOf, empty, isTall = false } = props
  const { rows, error, isSlow, hasMore, loadMore, reload } = of
  const [hasAll, setAll] = useState(false)
  const body = useRef<HTMLTableSectionElement>(null)
  const count = rows?.length ?? 0
  const range = useWindow(body, count, hasMore ? loadMore : undefined)
  const [first, last] = isTall ? [0, count] : range
  const columnsKey = `${hasAll} ${columns.map(({ title }) => title).join()}`
  useSteadyColumns(body, !isTall && count > ALL_BELOW ? columnsKey : undefined)
  if (error && !rows) return <ErrorState error={error} onRetry={reload} />
  if (!rows) return isSlow ? <Skeleton rows={8} /> : null
  if (rows.length === 0) return hasMore ? <Skeleton rows={8} /> : empty
  return (
    <>
      <TableBox name={name} hasAll={hasAll}>
        <table aria-rowcount={rows.length + 1} class={isTall ? 'tall' : ''}>
          <thead>
            <tr>
              {columns.map(column => (
                <Head key={column.title} of={column} sorting={props.sorting} />
              ))}
            </tr>
          </thead>
          <tbody ref={body}>
            <Spacer height={first * ROW_HEIGHT} />
            {rows.slice(first, last).map(row => (
              <BodyRow key={keyOf(row)} row={row} columns={columns} hrefOf={hrefOf} />
            ))}
            <Spacer height={(rows.length - last) * ROW_HEIGHT} />
          </tbody>
        </table>
      </TableBox>
      <div class="table-foot">
        <span>{text(hasMore ? 'rows.more' : 'rows', { n: rows.length })}</span>
        <ColumnsButton of={columns} hasAll={hasAll} onChange={setAll} />
        {props.csvHref ? (
          <a class="button tiny" href={props.csvHref} download>
            {text('csv')}
          </a>
        ) : (
          <button type="button" class="button tiny" onClick={() => saveCsv(name, columns, rows)}>
            {text('csv')}
          </button>
        )}
      </div>
      {error && <ErrorState error={error} onRetry={loadMore} />}
    </>
  )
}
interface BodyRowProps<Row> {
  readonly row: Row
  readonly columns: readonly Column<Row>[]
  readonly hrefOf: ((row: Row) => string | undefined) | undefined
}
/** Rendered once while it is scrolled: only a page that renders itself again makes new columns. */
class BodyRow<Row> extends Component<BodyRowProps<Row>> {
  override shouldComponentUpdate(next: BodyRowProps<Row>): boolean {
    return next.row !== this.props.row || next.columns !== this.props.columns
  }
  override render({ row, columns, hrefOf }: BodyRowProps<Row>) {
    const open = (event: MouseEvent) => {
      const isControl = (event.target as Element).closest('a, button, input')
      const href = hrefOf?.(row)
      if (href && !isControl && !getSelection()?.toString()) location.hash = href
    }
    return (
      <tr onClick={open}>
        {columns.map(column => (
          <td key={column.title} class={classOf(column)}>
            {column.cell(row)}
          </td>
        ))}
      </tr>
    )
  }
}
interface TableBoxProps {
  readonly name: string
  /** Narrow screens show all columns too. */
  readonly hasAll?: boolean
  readonly children: ComponentChildren
}
/** Scrolls a table that is wider than the screen; the keyboard reaches it. */
export const TableBox = ({ name, hasAll = false, children }: TableBoxProps) => (
  <section
    class={hasAll ? 'table-box all-columns' : 'table-box'}
    aria-label={name}
    // biome-ignore lint/a11y/noNoninteractiveTabindex: a box that scrolls must be reachable
    tabIndex={0}
  >
    {children}
  </section>
)
interface ColumnsButtonProps {
  readonly of: readonly Pick<Column<never>, 'isWide' | 'isWidest' | 'isExtra'>[]
  readonly hasAll: boolean
  onChange(hasAll: boolean): void
}
/** Shows the columns that a screen of this width leaves out. */
export const ColumnsButton = ({ of, hasAll, onChange }: ColumnsButtonProps) => {
  const levels = [
    of.some(each => each.isExtra) && 'below-extra',
    of.some(each => each.isWidest) && 'below-widest',
    of.some(each => each.isWide) && 'below-wide',
  ]
  const widest = levels.find(Boolean)
  if (!widest) return null
  return (
    <button
      type="button"
      class={`button tiny ${widest}`}
      aria-pressed={hasAll}
      onClick={() => onChange(!hasAll)}
    >
      {text(hasAll ? 'columns.fewer' : 'columns.all')}
    </button>
  )
}
interface PlainProps<Row> {
  readonly name: string
  readonly rows: readonly Row[]
  readonly columns: readonly Column<Row>[]
}
/** A table of rows that are all there. */
export const PlainTable = <Row,>({ name, rows, columns }: PlainProps<Row>) => (
  <TableBox name={name} hasAll>
    <table>
      <thead>
        <tr>
          {columns.map(column => (
            <Head key={column.title} of={column} sorting={undefined} />
          ))}
        </tr>
      </thead>
      <tbody>
        {rows.map((row, at) => (
          <BodyRow key={at} row={row} columns={columns} hrefOf={undefined} />
        ))}
      </tbody>
    </table>
  </TableBox>
)
interface HeadProps<Row> {
  readonly of: Column<Row>
  readonly sorting: Sorting | undefined
}
const Head = <Row,>({ of, sorting }: HeadProps<Row>) => {
  const { title, sort } = of
  const { by, order, onSort } = sorting ?? {}
  const isSorted = sort !== undefined && sort === by
  const direction = order === 'asc' ? ('ascending' as const) : ('descending' as const)
  return (
    <th scope="col" class={classOf(of)} {...(isSorted && { 'aria-sort': direction })}>
      {sort && onSort ? (
        <button
          type="button"
          class="sort"
          onClick={() => onSort(sort, isSorted && order === 'desc' ? 'asc' : 'desc')}
        >
          {title}
          <span aria-hidden="true">{isSorted ? (order === 'asc' ? '↑' : '↓') : '↕'}</span>
        </button>
      ) : (
        title
      )}
    </th>
  )
}
const classOf = (
  column: Pick<Column<never>, 'isNumber' | 'isWide' | 'isWidest' | 'isExtra' | 'isActions'>,
): string | undefined =>
  [
    column.isNumber && 'number',
    column.isWide && 'wide-only',
    column.isWidest && 'widest-only',
    column.isExtra && 'extra-only',
    column.isActions && 'actions',
  ]
    .filter(Boolean)
    .join(' ') || undefined
const Spacer = ({ height }: { height: number }) =>
  height <= 0 ? null : (
    <tr class="spacer">
      <td style={{ height: `${height}px` }} />
    </tr>
  )

/** The indexes of the rows on the screen; loads more near the end. */
const useWindow = (
  body: { readonly current: HTMLElement | null },
  count: number,
  loadMore: (() => void) | undefined,
): readonly [first: number, last: number] => {
  const [range, setRange] = useState<readonly [number, number]>([0, ALL_BELOW])
  useLayoutEffect(() => {
    const update = () => {
      const top = body.current?.getBoundingClientRect().top ?? 0
      const firstSeen = Math.floor(-top / ROW_HEIGHT)
      const lastSeen = firstSeen + Math.ceil(innerHeight / ROW_HEIGHT)
      if (lastSeen + MARGIN >= count) loadMore?.()
      const first = count <= ALL_BELOW ? 0 : Math.max(0, firstSeen - MARGIN)
      const last = count <= ALL_BELOW ? count : Math.min(count, Math.max(lastSeen, 0) + MARGIN)
      setRange(before => (before[0] === first && before[1] === last ? before : [first, last]))
    }
    update()
    addEventListener('scroll', update, { passive: true })
    addEventListener('resize', update)
    return () => {
      removeEventListener('scroll', update)
      removeEventListener('resize', update)
    }
  }, [count, loadMore])
  return range
}

/** Keeps the widths of the columns while their rows change. `columnsKey` changes with the columns
 *  in view; undefined: all rows are in the document. */
const useSteadyColumns = (
  body: { readonly current: HTMLElement | null },
  columnsKey: string | undefined,
): void =>
  useLayoutEffect(() => {
    const table = body.current?.closest('table')
    if (!table || columnsKey === undefined) return
    const heads = [...table.querySelectorAll('th')]
    const release = () => {
      table.style.tableLayout = ''
      table.style.minWidth = ''
      for (const head of heads) head.style.width = ''
    }
    const measure = () => {
      release()
      const widths = heads.map(head => head.getBoundingClientRect().width)
      for (const [index, head] of heads.entries()) head.style.width = `${widths[index]}px`
      // A fixed table would squeeze columns that need more than the box; this one scrolls.
      table.style.minWidth = `${table.offsetWidth}px`
      table.style.tableLayout = 'fixed'
    }
    measure()
    addEventListener('resize', measure)
    return () => {
      removeEventListener('resize', measure)
      release()
    }
  }, [columnsKey])

const saveCsv = <Row,>(
  name: string,
  columns: readonly Column<Row>[],
  rows: readonly Row[],
): void => {
  const exported = columns.filter(({ csv }) => csv)
  const lines = [
    exported.map(({ title }) => csvCell(title)),
    ...rows.map(row => exported.map(({ csv }) => csvCell(csv?.(row)))),
  ]
  const content = lines.map(fields => `${fields.join(',')}\r\n`).join('')
  const link = document.createElement('a')
  link.href = URL.createObjectURL(new Blob(['\ufeff', content], { type: 'text/csv' }))
  link.download = `${name.toLowerCase().replace(/\W+/g, '-')}.csv`
  link.click()
  URL.revokeObjectURL(link.href)
}
