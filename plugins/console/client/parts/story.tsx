/** One request's whole story, for operators: its log line, its charges and its task. */
import { Fragment } from 'preact'
import { useContext, useState } from 'preact/hooks'
import type {
  ChargeView,
  FailedCallView,
  Failure,
  RequestLine,
  RequestStory,
  Skip,
  Try,
} from '../../../views.ts'
import { amountOfNanos, formatMoney, formatTime } from '../format.ts'
import { useData } from '../loading.ts'
import { OperationDialog } from '../operation-dialog.tsx'
import { hrefOf } from '../router.ts'
import { text, textOr } from '../texts.ts'
import { Media } from './media.tsx'
import { Price } from './price.tsx'
import { View } from './states.tsx'
import { TableBox } from './table.tsx'
import { type Step, TimeLine } from './time-line.tsx'
import { toast } from './toast.tsx'
import {
  CodeBox,
  Id,
  jsonOf,
  Money,
  SessionContext,
  State,
  StatusCode,
  UpstreamName,
  useCurrency,
} from './values.tsx'

type Fields = Readonly<Record<string, unknown>>

export const Story = ({ id }: { id: string }) => {
  const path = `/api/admin/requests/story?${new URLSearchParams({ id })}`
  const story = useData<{ data: RequestStory }>(path)
  return (
    <View of={story} rows={10}>
      {({ data }) => <StoryView story={data} onChange={story.reload} />}
    </View>
  )
}

const StoryView = ({ story, onChange }: { story: RequestStory; onChange(): void }) => {
  const { request, charges, task, failed } = story
  const charge = charges[0]
  return (
    <>
      {!request && <p class="notice">{text('call.no-line')}</p>}
      <div class="two">
        <What
          request={request}
          keyName={story.key_name}
          traceUrl={story.trace_url}
          charge={charge}
          failed={failed}
        />
        <TimeLine steps={inOrder(stepsOf(story, useCurrency()))} />
      </div>
      {failed ? (
        <Why failure={failed} />
      ) : (
        request?.message !== undefined && (
          <Why
            failure={{
              status: request.status,
              code: request.code ?? '',
              message: request.message,
            }}
          />
        )
      )}
      {failed && <Attempts attempts={failed.attempts} />}
      {request?.skipped && <Skipped skips={request.skipped} />}
      {charges.length === 0 && <p class="notice">{text('call.no-charge')}</p>}
      {charges.map(each => (
        <ChargeBox key={each.request} charge={each} onChange={onChange} />
      ))}
      {task && <TaskView task={task} />}
      {request?.dropped !== undefined && <Json title="call.dropped" value={request.dropped} />}
      {request?.details !== undefined && <Json title="call.details" value={request.details} />}
    </>
  )
}

/** The error that the client got. */
export const Why = ({ failure: { status, code, message } }: { failure: Failure }) => (
  <section class="card" aria-label={text('call.told')}>
    <h2>{text('call.told')}</h2>
    <p>
      <StatusCode status={status} code={code} /> {message}
    </p>
  </section>
)
/** The reply of each upstream. */
const Attempts = ({ attempts }: { attempts: readonly Try[] }) =>
  attempts.length === 0 ? null : (
    <TableBox name={text('call.attempts')}>
      <table>
        <thead>
          <tr>
            <th scope="col">{text('call.target')}</th>
            <th scope="col">{text('column.status')}</th>
            <th scope="col">{text('call.upstream-key')}</th>
            <th scope="col" class="number">
              {text('column.ms')}
            </th>
            <th scope="col">{text('column.message')}</th>
          </tr>
        </thead>
        <tbody>
          {attempts.map((each, index) => (
            <tr key={index}>
              <td>{each.upstream && <UpstreamName name={each.upstream} target={each.target} />}</td>
              <td>{each.result}</td>
              <td class="mono">{each.key ?? '–'}</td>
              <td class="number">{each.ms}</td>
              <td>{[each.cause, each.message].filter(Boolean).join(' · ')}</td>
            </tr>
          ))}
        </tbody>
      </table>
    </TableBox>
  )
/** Why targets were not asked. */
const Skipped = ({ skips }: { skips: readonly Skip[] }) => (
  <section class="card" aria-label={text('call.skipped')}>
    <h2>{text('call.skipped')}</h2>
    <dl class="facts">
      {skips.map((each, index) => (
        <Fragment key={index}>
          <dt>
            <UpstreamName name={each.upstream} target={each.target} />
          </dt>
          <dd>{textOr(`skip.${each.why}`, each.why)}</dd>
        </Fragment>
      ))}
    </dl>
  </section>
)

const Json = ({ title, value }: { title: 'call.dropped' | 'call.details'; value: unknown }) => (
  <section class="card" aria-label={text(title)}>
    <h2>{text(title)}</h2>
    <CodeBox text={jsonOf(value)} />
  </section>
)

type Fact = readonly [name: string, value: preact.ComponentChildren]
const What = ({
  request,
  keyName,
  traceUrl,
  charge,
  failed,
}: {
  keyName: string | null
  traceUrl: string | null
  request: RequestLine | null
  charge?: ChargeView | undefined
  failed: FailedCallView | null
}) => {
  const source = { ...failed, ...charge, ...request } as Partial<RequestLine & ChargeView>
  const {
    account_name: name,
    account,
    key,
    token,
    model,
    route,
    version,
    upstream,
    target,
  } = source
  const facts: readonly Fact[] = [
    [text('column.status'), request && <StatusCode status={request.status} code={request.code} />],
    [text('call.end'), request?.end],
    [
      text('column.account'),
      account != null && <a href={hrefOf('account', String(account))}>{name ?? `#${account}`}</a>,
    ],
    [
      text('column.key'),
      key ? (keyName ?? `#${key}`) : token ? `${text('personal.token')} #${token}` : undefined,
    ],
    [text('call.request'), request && `${request.method} ${request.path}`],
    [text('column.route'), route && <a href={hrefOf('routes', route)}>{route}</a>],
    [text('call.asked'), model],
    [text('call.target'), upstream && <UpstreamName name={upstream} target={target} />],
    [
      text('call.version'),
      version !== undefined && (
        <a href={hrefOf('configuration', undefined, { version: String(version) })}>#{version}</a>
      ),
    ],
    [text('call.client-id'), request?.request_id],
    [text('call.trace'), request?.trace && <Trace id={request.trace} url={traceUrl} />],
    [text('call.process'), request?.process],
  ]
  return (
    <section class="card" aria-label={text('call.what')}>
      <h2>{text('call.what')}</h2>
      <Facts facts={facts} />
    </section>
  )
}
const Facts = ({ facts }: { facts: readonly Fact[] }) => (
  <dl class="facts">
    {facts.map(([title, value]) =>
      value ? (
        <>
          <dt key={title}>{title}</dt>
          <dd>{value}</dd>
        </>
      ) : null,
    )}
  </dl>
)

const isFailed = (result: Try['result']): boolean =>
  typeof result !== 'number' ? result !== 'ok' && result !== undefined : result >= 400

/** Its status and duration are those of the request. */
const onlyAttemptOf = ({
  upstream,
  target,
  sent_ms: start,
  upstream_id: id,
}: RequestLine): Try => ({
  ...(upstream !== undefined && { upstream }),
  ...(target !== undefined && { target }),
  ...(start !== undefined && { start }),
  ...(id !== undefined && { id }),
})

/** The log line has the end and durations; the ledger has its own times. */
const stepsOf = ({ request, charges, failed }: RequestStory, currency: string): readonly Step[] => {
  const money = (amount: string) => formatMoney(Number(amount), currency)
  const first = charges.at(-1)
  const own = failed ? Date.parse(failed.at) - failed.ms : undefined
  const start = request ? request.time - request.ms : first ? Date.parse(first.opened) : own
  const tries: readonly Try[] =
    request?.tries ??
    (request && request.attempts > 0 ? [onlyAttemptOf(request)] : (failed?.attempts ?? []))
  return [
    { title: text('call.accepted'), at: start },
    ...(first
      ? [{ title: text('call.held'), at: Date.parse(first.opened), detail: money(first.hold) }]
      : []),
    ...tries.map((each, index): Step => {
      const duration = each.result === undefined ? '' : `${each.result} · ${each.ms ?? ''} ms`
      const retryAfter = each.retry_after === undefined ? '' : `retry-after ${each.retry_after}`
      return {
        title: text('call.attempt', { n: index + 1 }),
        detail: [each.upstream, each.target, duration, retryAfter, each.id]
          .filter(Boolean)
          .join(' · '),
        tone: isFailed(each.result) ? 'warning' : undefined,
        at: start === undefined || each.start === undefined ? undefined : start + each.start,
      }
    }),
    ...(request?.first_byte === undefined || start === undefined
      ? []
      : [{ title: text('call.first-byte'), at: start + request.first_byte }]),
    ...(request
      ? [
          {
            title: text('call.last-byte'),
            at: request.time,
            detail: `${request.status} · ${request.bytes ?? 0} B · ${text('call.added', { ms: request.added })}`,
            tone: request.status >= 400 ? ('error' as const) : undefined,
          },
        ]
      : []),
    ...charges.toReversed().map(
      (charge): Step => ({
        title: text(charge.state === 'released' ? 'call.released' : 'call.settled'),
        at: charge.closed ? Date.parse(charge.closed) : undefined,
        detail: charge.closed ? money(charge.cost) : text('state.open'),
      }),
    ),
  ]
}

/** By time; a step whose time is not known stays after the one before it. Times of the ledger are
 *  whole ms: steps of the same ms stay in the order in which they happen, and none is shown before
 *  the one before it. */
const inOrder = (steps: readonly Step[]): readonly Step[] => {
  let last = 0
  const times = new Map(
    steps.map(step => {
      last = step.at === undefined ? last : Math.floor(step.at)
      return [step, last]
    }),
  )
  let latest = 0
  return steps
    .toSorted((a, b) => (times.get(a) ?? 0) - (times.get(b) ?? 0))
    .map(step => {
      latest = Math.max(latest, step.at ?? 0)
      return step.at === undefined ? step : { ...step, at: latest }
    })
}

/** `url`: of the trace in the tool that shows traces. */
const Trace = ({ id, url }: { id: string; url: string | null }) => (
  <span class="row">
    <Id id={id} />
    {url !== null && /^https?:/.test(url) && (
      <a href={url} target="_blank" rel="noreferrer">
        {text('call.trace.open')}
      </a>
    )}
  </span>
)

/** The ledger's record of who served the call: it stays when the log line is gone. */
const ServedBy = ({ charge }: { charge: ChargeView }) => {
  const { upstream, target, ms, first_content_ms: first } = charge
  if (!upstream) return null
  const facts: readonly Fact[] = [
    [text('call.target'), <UpstreamName key="target" name={upstream} target={target} />],
    [text('call.upstream-key'), charge.upstream_key],
    [text('call.served-model'), charge.served_model],
    [text('call.tier'), charge.tier],
    [text('call.speed'), charge.speed],
    [text('call.geography'), charge.geography],
    [text('call.zone'), charge.zone],
    [text('call.tags'), charge.tags],
    [text('call.rule'), charge.rule],
    [text('call.guard'), charge.guard],
    [text('call.upstream-id'), charge.response_id],
    [text('call.cache'), charge.cache && <a href={hrefOf('call', charge.cache)}>{charge.cache}</a>],
    [text('call.times'), ms === null ? null : text('call.times.of', { first: first ?? ms, ms })],
  ]
  return (
    <section class="card" aria-label={text('call.served')}>
      <h2>{text('call.served')}</h2>
      <Facts facts={facts} />
    </section>
  )
}

const ChargeBox = ({ charge, onChange }: { charge: ChargeView; onChange(): void }) => {
  const [isAsking, setAsking] = useState(false)
  const currency = useCurrency()
  const { request, state, cost, planned, refunded, uncollected, formula, usage, estimated } = charge
  const canRefund = state === 'settled' && Number(cost) > 0 && Number(refunded) === 0
  return (
    <>
      <ServedBy charge={charge} />
      <div class="card-head">
        <span class="row">
          <State state={state} /> <Money amount={Number(cost)} /> {currency}
          {estimated && <span class="muted">{text('call.estimated')}</span>}
        </span>
        {canRefund && (
          <button type="button" class="button danger" onClick={() => setAsking(true)}>
            {text('call.refund')}
          </button>
        )}
      </div>
      <Price
        lines={charge.lines.map(({ nanos, ...line }) => ({
          ...line,
          amount: amountOfNanos(nanos),
        }))}
        formula={formula}
        cost={cost}
        planned={planned}
        planned_tokens={charge.planned_tokens}
        refunded={refunded}
        uncollected={uncollected}
        usage={usage}
      />
      {isAsking && (
        <OperationDialog
          of="accounts refund"
          fixed={{ request }}
          title={text('call.refund.title', { cost: `${cost} ${currency}` })}
          help={text('call.refund.help', { name: charge.account_name ?? `#${charge.account}` })}
          submit={text('call.refund')}
          onClose={() => setAsking(false)}
          onDone={() => {
            toast(text('call.refund.done'))
            setAsking(false)
            onChange()
          }}
        />
      )}
    </>
  )
}

const listIn = (value: unknown): readonly Fields[] => (Array.isArray(value) ? value : [])
const timeIn = (value: unknown): string => (typeof value === 'string' ? formatTime(value) : '')
/** Results are fetched as their owner: an operator sees where those of others are. */
const Results = ({ task }: { task: Fields }) => {
  const session = useContext(SessionContext)
  const results = listIn(task.results)
  if (results.length === 0) return null
  if (session?.account.id !== task.account) return <CodeBox text={jsonOf(results)} />
  return results.map((result, index) => (
    <Media key={index} task={String(task.id)} index={index} result={result} />
  ))
}
const TaskView = ({ task }: { task: Fields }) => (
  <section class="card" aria-label={text('page.task')}>
    <div class="card-head">
      <h2>
        {text('page.task')} <Id id={String(task.id)} />
      </h2>
      <State state={String(task.state)} />
    </div>
    <dl class="facts">
      <dt>{text('column.created')}</dt>
      <dd>{timeIn(task.created)}</dd>
      <dt>{text('tasks.changed')}</dt>
      <dd>{timeIn(task.changed)}</dd>
      {Boolean(task.upstreamId) && (
        <>
          <dt>{text('call.upstream-id')}</dt>
          <dd class="mono">{String(task.upstreamId)}</dd>
        </>
      )}
    </dl>
    {Boolean(task.error) && <CodeBox text={jsonOf(task.error)} />}
    {listIn(task.callbacks).length > 0 && (
      <>
        <h3>{text('call.callbacks')}</h3>
        <CodeBox text={jsonOf(task.callbacks)} />
      </>
    )}
    <Results task={task} />
  </section>
)
