/** Models and prices: search, and snippets to paste. */
import { useContext, useState } from 'preact/hooks'
import type { PricedModel } from '../../../views.ts'
import { ChangePrices } from '../changes/prices.tsx'
import { videoCurlOf } from '../formats.ts'
import { useData } from '../loading.ts'
import { millionOf, pricesOfLine } from '../model-prices.ts'
import type { PageProps } from '../page.ts'
import { Dialog } from '../parts/form.tsx'
import { PageHead } from '../parts/page.tsx'
import { actionColumn } from '../parts/row-actions.tsx'
import { formatsOf, Snippet, SnippetTabs } from '../parts/snippets.tsx'
import { Empty, View } from '../parts/states.tsx'
import { type Column, Table } from '../parts/table.tsx'
import { Money, SessionContext, useCurrency } from '../parts/values.tsx'
import { hrefOf, setQuery } from '../router.ts'
import { text } from '../texts.ts'

const Models = ({ place: { query } }: PageProps) => {
  const [model, setModel] = useState<PricedModel>()
  const [priced, setPriced] = useState<PricedModel>()
  const search = (query.get('search') ?? '').toLowerCase()
  const models = useData<{ data: readonly PricedModel[] }>('/api/pricing')
  const matches = ({ model_name, description = '' }: PricedModel): boolean =>
    `${model_name} ${description}`.toLowerCase().includes(search)
  return (
    <>
      <PageHead title={text('page.models')} />
      <div class="filters">
        <input
          type="search"
          class="input"
          aria-label={text('models.search')}
          placeholder={text('models.search')}
          value={search}
          onInput={event => setQuery({ search: event.currentTarget.value })}
        />
      </div>
      <View of={models} rows={10}>
        {({ data }) => (
          <ModelList models={data.filter(matches)} onSnippets={setModel} onPrices={setPriced} />
        )}
      </View>
      {model && <Snippets model={model} onClose={() => setModel(undefined)} />}
      {priced && (
        <ChangePrices
          model={priced}
          onClose={() => setPriced(undefined)}
          onLive={() => {
            setPriced(undefined)
            models.reload()
          }}
        />
      )}
    </>
  )
}
export default Models

interface ShownProps {
  readonly models: readonly PricedModel[]
  onSnippets(model: PricedModel): void
  onPrices(model: PricedModel): void
}
const ModelList = ({ models, onSnippets, onPrices }: ShownProps) => {
  const currency = useCurrency()
  const mayEdit = useContext(SessionContext)?.edit
  return (
    <Table
      name={text('page.models')}
      of={{
        rows: models,
        error: undefined,
        isSlow: false,
        hasMore: false,
        loadMore: () => {},
        reload: () => {},
      }}
      columns={columnsOf(currency, onSnippets, mayEdit ? onPrices : undefined)}
      keyOf={({ model_name }) => model_name}
      isTall
      empty={<Empty title={text('models.empty')} help={text('models.empty.help')} />}
    />
  )
}

/** Meters whose prices are compared between models: each has a column. */
const COMPARED = ['input', 'cached', 'output'] as const
/** The prices of meters that `isShown` accepts, and what holds for a whole call. */
const pricesOf = (
  { prices, video_prices = [], free }: PricedModel,
  isShown: (meter: string) => boolean = () => true,
): readonly string[] => {
  if (free) return [text('models.free')]
  const clips = video_prices.map(
    ({ resolution, duration, credits }) =>
      `${resolution}: ${text('models.credits', { credits, seconds: duration })}`,
  )
  if (clips.length > 0) return clips
  return prices.filter(({ meter }) => meter === undefined || isShown(meter)).flatMap(pricesOfLine)
}
/** Those without a column of their own. */
const otherPricesOf = (model: PricedModel): readonly string[] =>
  pricesOf(
    model,
    meter => !COMPARED.some(each => each === meter) || millionOf(model, meter) === undefined,
  )
const PriceList = ({ of: prices }: { of: readonly string[] }) => (
  <span class="price-list small">
    {prices.map(price => (
      <span key={price} class="nowrap">
        {price}
      </span>
    ))}
  </span>
)
const priceColumn = (name: (typeof COMPARED)[number], currency: string): Column<PricedModel> => ({
  // The unit stays together if the header has two lines.
  title: `${text(`models.${name}`)} (${currency}\u00a0/\u00a01M)`,
  cell: model => {
    const amount = millionOf(model, name)
    return amount === undefined ? <span class="faint">–</span> : <Money amount={amount} />
  },
  csv: model => millionOf(model, name),
  isNumber: true,
  isWide: true,
})
const columnsOf = (
  currency: string,
  onSnippets: (model: PricedModel) => void,
  onPrices: ((model: PricedModel) => void) | undefined,
): readonly Column<PricedModel>[] => [
  {
    title: text('column.model'),
    cell: model => (
      <>
        <strong class="nowrap">{model.model_name}</strong>
        {model.description && model.description !== model.model_name && (
          <div class="small muted wide-only">{model.description}</div>
        )}
        <div class="narrow-block">
          <PriceList of={pricesOf(model)} />
        </div>
      </>
    ),
    csv: ({ model_name }) => model_name,
  },
  ...COMPARED.map(name => priceColumn(name, currency)),
  {
    title: `${text('models.other')} (${currency})`,
    cell: model => <PriceList of={otherPricesOf(model)} />,
    csv: model => otherPricesOf(model).join('; '),
    isWide: true,
  },
  {
    title: text('models.formats'),
    cell: ({ supported_endpoint_types }) => (
      <span class="muted small formats">{supported_endpoint_types.join(', ')}</span>
    ),
    csv: ({ supported_endpoint_types }) => supported_endpoint_types.join(' '),
    isWidest: true,
  },
  actionColumn(
    ({ model_name }) => model_name,
    model => [
      { label: text('models.snippets'), run: () => onSnippets(model) },
      ...(onPrices ? [{ label: text('models.change'), run: () => onPrices(model) }] : []),
    ],
  ),
]

const Snippets = ({ model, onClose }: { model: PricedModel; onClose(): void }) => {
  const { model_name: name } = model
  const base = useContext(SessionContext)?.url ?? ''
  const [format] = formatsOf(model)
  const isVideo = model.supported_endpoint_types.includes('vidu')
  const other = isVideo
    ? videoCurlOf({ base, model: name })
    : `curl ${base}/v1/models/${name} -H "Authorization: Bearer $KEY"`
  return (
    <Dialog title={text('models.snippet', { name })} onClose={onClose}>
      {format ? <SnippetTabs model={model} /> : <Snippet code={other} />}
      <div class="dialog-foot">
        {(format || isVideo) && (
          <a
            class="button"
            href={hrefOf('playground', undefined, { model: name, format: format ?? 'video' })}
          >
            {text('page.playground')}
          </a>
        )}
        <button type="button" class="button primary" onClick={onClose}>
          {text('close')}
        </button>
      </div>
    </Dialog>
  )
}
