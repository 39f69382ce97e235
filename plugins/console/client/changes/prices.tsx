/** Fields for prices by meter, and the form that changes the prices of a model. */
import { useState } from 'preact/hooks'
import type { PricedModel } from '../../../views.ts'
import type { ApiError } from '../api.ts'
import { Field } from '../parts/form.tsx'
import { useCurrency } from '../parts/values.tsx'
import { text, textOr } from '../texts.ts'
import { ChangeForm } from './change-form.tsx'

export type Prices = Readonly<Record<string, string>>
export interface PricesDraft {
  readonly prices: Prices
  /** A price a line: `meter: price`. */
  readonly others: string
}
export const NO_PRICES: PricesDraft = { prices: {}, others: '' }
/** The meters that models of text have. */
export const COMMON_METERS = ['input', 'cached', 'output']

const OTHER = /^([^:]+):(.*)$/
/** The prices that differ from those before; another line is sent too, for its error. */
export const pricesOf = ({ prices, others }: PricesDraft, before: Prices = {}): Prices => {
  const lines = others
    .split('\n')
    .filter(line => line.trim() !== '')
    .map(line => OTHER.exec(line)?.slice(1) ?? [line, ''])
  const all = [...Object.entries(prices), ...lines]
    .map(([meter = '', price = '']) => [meter.trim(), price.trim()] as const)
    .filter(([meter, price]) => price !== (before[meter] ?? ''))
  return Object.fromEntries(all)
}

interface PriceFieldsProps {
  readonly meters: readonly string[]
  readonly draft: PricesDraft
  onChange(draft: PricesDraft): void
  readonly error: ApiError | undefined
}
export const PriceFields = ({ meters, draft, onChange, error }: PriceFieldsProps) => {
  const currency = useCurrency()
  return (
    <>
      {meters.map(meter => (
        <Field
          key={meter}
          label={text('change.price.of', { meter: textOr(`models.${meter}`, meter) })}
          value={draft.prices[meter] ?? ''}
          placeholder={`2.50 ${currency} / 1M`}
          onChange={price => onChange({ ...draft, prices: { ...draft.prices, [meter]: price } })}
        />
      ))}
      <Field
        label={`${text('change.price.others')} (${text('optional')})`}
        help={text('change.price.others.help', { currency })}
        value={draft.others}
        lines={2}
        onChange={others => onChange({ ...draft, others })}
        param="prices"
        error={error}
      />
    </>
  )
}

interface ChangePricesProps {
  readonly model: PricedModel
  onClose(): void
  onLive(): void
}
export const ChangePrices = ({ model, onClose, onLive }: ChangePricesProps) => {
  const { model_name: name, prices: rows } = model
  const [before] = useState(() => plainPricesOf(rows))
  const [draft, setDraft] = useState<PricesDraft>({ prices: before, others: '' })
  const meters = [...new Set([...Object.keys(before), ...(rows.length > 0 ? [] : COMMON_METERS)])]
  const isVaried = rows.some(({ price }) => typeof price !== 'string')
  return (
    <ChangeForm
      title={text('change.price.title', { name })}
      operation="price"
      body={{ model: name, prices: pricesOf(draft, before) }}
      params={['prices']}
      onClose={onClose}
      onLive={onLive}
    >
      {error => (
        <>
          {isVaried && <p class="small muted">{text('change.price.varied')}</p>}
          <PriceFields meters={meters} draft={draft} onChange={setDraft} error={error} />
        </>
      )}
    </ChangeForm>
  )
}
/** Those that do not depend on the request. */
const plainPricesOf = (rows: PricedModel['prices']): Prices =>
  Object.fromEntries(
    rows.flatMap(({ meter, price }) =>
      meter !== undefined && typeof price === 'string' ? [[meter, price]] : [],
    ),
  )
