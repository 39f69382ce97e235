/** The form that adds a model of an upstream, chosen from the provider's own list. */
import { useState } from 'preact/hooks'
import type { OfferRow } from '../../../views.ts'
import type { ApiError } from '../api.ts'
import { type Loaded, useData } from '../loading.ts'
import { Field } from '../parts/form.tsx'
import { text } from '../texts.ts'
import { ChangeForm } from './change-form.tsx'
import { COMMON_METERS, NO_PRICES, PriceFields, pricesOf } from './prices.tsx'

interface AddModelProps {
  readonly upstream: string
  onClose(): void
  onLive(): void
}
type Offers = Loaded<{ readonly data: readonly OfferRow[] }>
const EMPTY = { model: '', name: '', title: '', isFree: false }
type Draft = typeof EMPTY
const PARAMS = ['model', 'name', 'title', 'prices']

const AddModel = ({ upstream, onClose, onLive }: AddModelProps) => {
  const path = `/api/admin/config/offers?${new URLSearchParams({ upstream })}`
  const offers: Offers = useData(path)
  const [draft, setDraft] = useState(EMPTY)
  const [prices, setPrices] = useState(NO_PRICES)
  const change = (part: Partial<Draft>) => setDraft({ ...draft, ...part })
  const { model, name, title, isFree } = draft
  const body = {
    upstream,
    model,
    ...(name !== '' && { name }),
    ...(title !== '' && { title }),
    ...(isFree ? { free: true } : { prices: pricesOf(prices) }),
  }
  return (
    <ChangeForm
      title={text('change.model.title', { name: upstream })}
      operation="model"
      body={body}
      params={PARAMS}
      onClose={onClose}
      onLive={onLive}
    >
      {error => (
        <>
          <Field
            label={text('change.model')}
            help={<OffersHelp of={offers} />}
            value={model}
            onChange={model => change({ model })}
            suggestions={namesOf(offers)}
            param="model"
            error={error}
            isRequired
            hasFocus
          />
          <NameFields draft={draft} onChange={change} error={error} />
          <Field
            label={text('change.price')}
            value={isFree ? 'free' : 'priced'}
            onChange={value => change({ isFree: value === 'free' })}
            options={[
              ['priced', text('change.priced')],
              ['free', text('change.free')],
            ]}
          />
          {!isFree && (
            <PriceFields meters={COMMON_METERS} draft={prices} onChange={setPrices} error={error} />
          )}
        </>
      )}
    </ChangeForm>
  )
}
export default AddModel

interface NameFieldsProps {
  readonly draft: Draft
  onChange(part: Partial<Draft>): void
  readonly error: ApiError | undefined
}
const NameFields = ({ draft, onChange, error }: NameFieldsProps) => (
  <>
    <Field
      label={`${text('change.model.name')} (${text('optional')})`}
      help={text('change.model.name.help')}
      value={draft.name}
      placeholder={draft.model}
      onChange={name => onChange({ name })}
      param="name"
      error={error}
    />
    <Field
      label={`${text('change.model.display')} (${text('optional')})`}
      value={draft.title}
      onChange={title => onChange({ title })}
      param="title"
      error={error}
    />
  </>
)

/** Models of the provider that the configuration lacks. */
const namesOf = ({ data }: Offers): readonly string[] =>
  (data?.data ?? []).filter(({ isConfigured }) => !isConfigured).map(({ model }) => model)
const OffersHelp = ({ of: offers }: { readonly of: Offers }) => {
  const { data, error } = offers
  if (error) return <span data-offers="failed">{`${error.message}. ${text('change.type')}`}</span>
  if (!data) return <span>{text('change.asking')}</span>
  const counts = { all: data.data.length, n: namesOf(offers).length }
  return <span data-offers={counts.all}>{text('change.offers', counts)}</span>
}
