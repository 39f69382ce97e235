/** The API of the gateway, readable: each call with its credentials, bodies, errors and price, from
 *  the OpenAPI document of the running routes. */
import type { ComponentChildren } from 'preact'
import { addressOf } from '../api.ts'
import { useData } from '../loading.ts'
import {
  type ApiCall,
  type Body,
  bodiesOf,
  callsOf,
  credentialsOf,
  errorsOf,
  membersOf,
  type OpenApi,
  type Schema,
  successesOf,
} from '../openapi.ts'
import type { PageProps } from '../page.ts'
import { Filter, wholeList } from '../parts/list.tsx'
import { PageHead } from '../parts/page.tsx'
import { Empty, View } from '../parts/states.tsx'
import { type Column, column, Table } from '../parts/table.tsx'
import { CodeBox, jsonOf, MethodPath } from '../parts/values.tsx'
import { hrefOf } from '../router.ts'
import { text } from '../texts.ts'

const Api = ({ place: { id, query } }: PageProps) => {
  const document = useData<OpenApi>('/openapi.json')
  if (id !== undefined)
    return (
      <View of={document} rows={10}>
        {data => <CallView id={id} document={data} />}
      </View>
    )
  const search = (query.get('search') ?? '').toLowerCase()
  const rows =
    document.data &&
    callsOf(document.data).filter(({ method, path, summary }) =>
      `${method} ${path} ${summary}`.toLowerCase().includes(search),
    )
  return (
    <>
      <PageHead title={text('page.api')}>
        <a class="button" href={addressOf('/openapi.json')} download="openapi.json">
          {text('api.document')}
        </a>
      </PageHead>
      <div class="filters">
        <Filter name="search" label={text('search')} query={query} isSearch />
      </div>
      <Table
        name={text('page.api')}
        of={wholeList(document, rows)}
        columns={document.data ? columns(document.data) : []}
        keyOf={({ operationId }) => operationId}
        hrefOf={({ operationId }) => hrefOf('api', operationId)}
        isTall
        empty={<Empty title={text('api.empty')} help={text('api.empty.help')} />}
      />
    </>
  )
}
export default Api

const columns = (document: OpenApi): readonly Column<ApiCall>[] => {
  const kinds = (call: ApiCall): string =>
    credentialsOf(call, document)
      .map(({ kind }) => kind)
      .join(', ') || text('api.open')
  return [
    {
      title: text('api.call'),
      cell: ({ method, path, operationId }) => (
        <a href={hrefOf('api', operationId)}>
          <MethodPath method={method} path={path} />
        </a>
      ),
      csv: ({ method, path }) => `${method} ${path}`,
    },
    column(text('routes.summary'), ({ summary }) => summary),
    {
      title: text('api.credentials'),
      cell: call => <span class="muted">{kinds(call)}</span>,
      csv: kinds,
      isWide: true,
    },
  ]
}

const CallView = ({ id, document }: { id: string; document: OpenApi }) => {
  const call = callsOf(document).find(each => each.operationId === id)
  const toList = (
    <a class="button" href={hrefOf('api')}>
      {text('page.api')}
    </a>
  )
  if (!call)
    return (
      <>
        <PageHead title={text('page.api')} />
        <Empty title={text('api.unknown')} help={id}>
          {toList}
        </Empty>
      </>
    )
  const requests = call.requestBody ? bodiesOf(text('call.request'), call.requestBody.content) : []
  return (
    <>
      <PageHead title={call.summary}>{toList}</PageHead>
      <Facts call={call} document={document} />
      {[...requests, ...successesOf(call)].map(body => (
        <Section key={titleOf(body)} title={titleOf(body)}>
          {body.schema && <Members schema={body.schema} document={document} />}
        </Section>
      ))}
      <Errors call={call} document={document} />
    </>
  )
}

interface CallProps {
  readonly call: ApiCall
  readonly document: OpenApi
}
const Facts = ({ call, document }: CallProps) => {
  const credentials = credentialsOf(call, document)
  return (
    <Section title={`${call.method} ${call.path}`}>
      <dl class="facts">
        <dt>{text('api.credentials')}</dt>
        <dd>
          {credentials.length === 0 && text('api.open')}
          {credentials.map(({ kind, places }) => (
            <div key={kind}>
              {kind} <span class="muted mono anywhere">{places.join(', ')}</span>
            </div>
          ))}
        </dd>
        <dt>{text('models.prices')}</dt>
        <dd>
          <Price of={call['x-price']} />
        </dd>
      </dl>
      {call.parameters.length > 0 && (
        <Rows
          rows={call.parameters.map(({ name, in: place, required, description, schema }) => ({
            name,
            type: [place, schema?.type].flat().filter(Boolean).join(' '),
            isRequired: required ?? false,
            description: description ?? '',
          }))}
        />
      )}
    </Section>
  )
}
/** A price as routes.yaml says it. */
const Price = ({ of: price }: { of: unknown }) => {
  const { free, by } = (price ?? {}) as { readonly free?: boolean; readonly by?: string }
  if (free) return <>{text('models.free')}</>
  if (by !== 'model') return <CodeBox text={jsonOf(price)} />
  return <a href={hrefOf('models')}>{text('api.price.model')}</a>
}

const Errors = ({ call, document }: CallProps) => {
  const { statuses, schemas } = errorsOf(call)
  if (statuses.length === 0) return null
  return (
    <Section title={text('api.errors')}>
      <Rows
        rows={statuses.map(({ status, description }) => ({
          name: status === 'default' ? '4xx, 5xx' : status,
          description,
        }))}
      />
      {schemas.map(schema => (
        <Members key={JSON.stringify(schema)} schema={schema} document={document} />
      ))}
    </Section>
  )
}

const titleOf = ({ title, type }: Body): string => (type ? `${title} · ${type}` : title)

const Section = ({ title, children }: { title: string; children: ComponentChildren }) => (
  <section class="card" aria-label={title}>
    <h2 class="anywhere">{title}</h2>
    {children}
  </section>
)

/** The members of a body; the schema itself if it has none. */
const Members = ({ schema, document }: { schema: Schema; document: OpenApi }) => {
  const members = membersOf(schema, document)
  return members.length > 0 ? <Rows rows={members} /> : <CodeBox text={jsonOf(schema)} />
}

interface Row {
  readonly name: string
  readonly type?: string
  readonly isRequired?: boolean
  readonly description: string
}
const Rows = ({ rows }: { rows: readonly Row[] }) => (
  <dl class="facts members">
    {rows.flatMap(({ name, type, isRequired, description }) => [
      <dt key={name} class="mono anywhere">
        {name}
      </dt>,
      <dd key={`${name} value`}>
        {type && <code class="anywhere">{type}</code>}
        {isRequired && <strong class="small"> {text('api.required')}</strong>}
        {description && <div class="small muted">{withCode(description)}</div>}
      </dd>,
    ])}
  </dl>
)
/** Text between backticks is code. */
const withCode = (description: string): ComponentChildren =>
  description
    .split('`')
    .map((part, index) => (index % 2 === 1 ? <code key={index}>{part}</code> : part))
