/** Filters whose values are in the address, and lists that are loaded whole. */
import type { Loaded } from '../loading.ts'
import { setQuery } from '../router.ts'
import { text } from '../texts.ts'
import type { useRows } from './table.tsx'

interface FilterProps {
  /** The name in the address. */
  readonly name: string
  readonly label: string
  readonly query: URLSearchParams
  readonly options?: readonly (readonly [value: string, label: string])[]
  readonly isSearch?: boolean
}
/** A text, or with `options` a choice, that filters a list. */
export const Filter = ({ name, label, query, options, isSearch = false }: FilterProps) => {
  const value = query.get(name) ?? ''
  if (!options)
    return (
      <input
        class="input"
        // Both types have the same attributes here.
        type={(isSearch ? 'search' : 'text') as 'search'}
        aria-label={label}
        placeholder={label}
        value={value}
        onInput={event => setQuery({ [name]: event.currentTarget.value.trim() })}
      />
    )
  return (
    <select
      class="input"
      aria-label={label}
      value={value}
      onChange={event => setQuery({ [name]: event.currentTarget.value })}
    >
      <option value="">
        {label}: {text('all')}
      </option>
      {options.map(([each, title]) => (
        <option key={each} value={each}>
          {title}
        </option>
      ))}
    </select>
  )
}

/** A list that is loaded whole, as a table shows it. */
export const wholeList = <Row,>(
  { error, isSlow, reload }: Pick<Loaded<unknown>, 'error' | 'isSlow' | 'reload'>,
  rows: readonly Row[] | undefined,
): ReturnType<typeof useRows<Row>> => ({
  rows,
  error,
  isSlow,
  hasMore: false,
  loadMore() {},
  reload,
})
