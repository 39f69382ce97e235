/** Models and prices: search, and snippets to paste. */
import { useContext, useState } from 'preact/hooks'
import { videoCurlOf } from '../formats.ts'
import { useData } from '../loading.ts'
import type { PageProps } from '../pages.ts'
import { Dialog } from '../parts/form.tsx'
import { PageHead } from '../parts/page.tsx'
import { actionColumn } from '../parts/row-actions.tsx'
import { formatsOf, type Model, Snippet, SnippetTabs } from '../parts/snippets.tsx'
import { Empty, View } from '../parts/states.tsx'
import { type Column, Table } from '../parts/table.tsx'
import { SessionContext, useCurrency } from '../parts/values.tsx'
import { hrefOf, setQuery } from '../router.ts'
import { text } from '../texts.ts'

const Models = ({ place: { query } }: PageProps) => {
  const [shown, setShown] = useState<Model>()
  const search = (query.get('search') ?? '').toLowerCase()
  const models = useData<{ data: readonly Model[] }>('/api/pricing')
  const matches = ({ model_name, description = '' }: Model): boolean =>
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
        {({ data }) => <Shown models={data.filter(matches)} onSnippets={setShown} />}
      </View>
      {shown && <Snippets model={shown} onClose={() => setShown(undefined)} />}
    </>
  )
}
export default Models

interface ShownProps {
  readonly models: readonly Model[]
  onSnippets(model: Model): void
}
const Shown = ({ models, onSnippets }: ShownProps) => {
  const currency = useCurrency()
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
      columns={columnsOf(currency, onSnippets)}
      keyOf={({ model_name }) => model_name}
      isTall
      empty={<Empty title={text('models.empty')} help={text('models.empty.help')} />}
    />
  )
}

/** Prices that depend on the request, one for each case: `images (low, 1024x1024) 0.08`. */
const pricesIn = (
  meter: string,
  price: string | object,
  cases: readonly string[] = [],
): readonly string[] =>
  typeof price === 'object'
    ? Object.entries(price).flatMap(([name, each]) => pricesIn(meter, each, [...cases, name]))
    : [`${meter} ${cases.length > 0 ? `(${cases.join(', ')}) ` : ''}${price}`]
const pricesOf = ({ prices, video_prices = [], free }: Model): readonly string[] => {
  if (free) return [text('models.free')]
  const clips = video_prices.map(
    ({ resolution, duration, credits }) =>
      `${resolution}: ${text('models.credits', { credits, seconds: duration })}`,
  )
  return clips.length > 0 ? clips : prices.flatMap(({ meter, price }) => pricesIn(meter, price))
}
const columnsOf = (
  currency: string,
  onSnippets: (model: Model) => void,
): readonly Column<Model>[] => [
  {
    title: text('column.model'),
    cell: ({ model_name, description }) => (
      <>
        <strong class="nowrap">{model_name}</strong>
        {description && description !== model_name && (
          <div class="small muted wide-only">{description}</div>
        )}
      </>
    ),
    csv: ({ model_name }) => model_name,
  },
  {
    title: `${text('models.prices')} (${currency})`,
    cell: model => (
      <span class="price-list">
        {pricesOf(model).map(price => (
          <span key={price} class="nowrap">
            {price}
          </span>
        ))}
      </span>
    ),
    csv: model => pricesOf(model).join('; '),
  },
  {
    title: text('models.formats'),
    cell: ({ supported_endpoint_types }) => (
      <span class="muted small">{supported_endpoint_types.join(', ')}</span>
    ),
    csv: ({ supported_endpoint_types }) => supported_endpoint_types.join(' '),
    isWide: true,
  },
  actionColumn(
    ({ model_name }) => model_name,
    model => [{ label: text('models.snippets'), run: () => onSnippets(model) }],
  ),
]

const Snippets = ({ model, onClose }: { model: Model; onClose(): void }) => {
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
