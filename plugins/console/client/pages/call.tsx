/** A call's own page: when it ran, who made it, what it cost and why. */
import { useContext } from 'preact/hooks'
import type { Receipt } from '../../../views.ts'
import { formatMoney } from '../format.ts'
import { useData } from '../loading.ts'
import type { PageProps } from '../page.ts'
import { keyNameOf, memberNameOf, useKeyNames, useMemberNames } from '../parts/caller-names.ts'
import { PageHead } from '../parts/page.tsx'
import { Price } from '../parts/price.tsx'
import { View } from '../parts/states.tsx'
import { Story, Why } from '../parts/story.tsx'
import { type Step, TimeLine } from '../parts/time-line.tsx'
import { Id, SessionContext, State, useCurrency } from '../parts/values.tsx'
import { hrefOf } from '../router.ts'
import { text } from '../texts.ts'

const Call = ({ place }: PageProps) => {
  const session = useContext(SessionContext)
  const id = place.id ?? ''
  return (
    <>
      <PageHead title={text('page.call')}>
        <Id id={id} />
      </PageHead>
      {session?.admin ? <Story id={id} /> : <OwnCall id={id} />}
    </>
  )
}
export default Call

const OwnCall = ({ id }: { id: string }) => {
  const receipt = useData<{ data: Receipt }>(`/api/usage/${encodeURIComponent(id)}`)
  return (
    <View of={receipt} rows={8}>
      {({ data }) => <ReceiptView receipt={data} />}
    </View>
  )
}

/** The steps of a call that a customer sees. */
const stepsOf = (receipt: Receipt, currency: string): readonly Step[] => {
  const { at, closed, held, cost, state, failure } = receipt
  const begin = Date.parse(at)
  if (failure && state === 'failed')
    return [
      { title: text('call.accepted'), at: begin },
      {
        title: text('state.failed'),
        at: closed ? Date.parse(closed) : undefined,
        detail: `${failure.status} ${failure.code}`,
        tone: 'error',
      },
    ]
  return [
    { title: text('call.accepted'), at: begin },
    { title: text('call.held'), at: begin, detail: formatMoney(held, currency) },
    {
      title: text(state === 'released' ? 'call.released' : 'call.settled'),
      at: closed ? Date.parse(closed) : undefined,
      detail: closed ? formatMoney(cost, currency) : text('state.open'),
    },
  ]
}

/** Names and values of what a charge says beside its key; null: it does not say it. */
const useFacts = (receipt: Receipt): readonly (readonly [string, string | null])[] => {
  const { member, tier, speed, geography, zone, tags, rule, guard } = receipt
  const { first_content_ms: first, ms } = receipt
  const members = useMemberNames()
  return [
    [text('column.member'), member === null ? null : memberNameOf(member, members)],
    [text('call.tier'), tier],
    [text('call.speed'), speed],
    [text('call.geography'), geography],
    [text('call.zone'), zone],
    [text('call.tags'), tags],
    [text('call.rule'), rule],
    [text('call.guard'), guard],
    [text('call.times'), ms === null ? null : text('call.times.of', { first: first ?? ms, ms })],
  ]
}

const ReceiptView = ({ receipt }: { receipt: Receipt }) => {
  const currency = useCurrency()
  const { model, route, key, state, estimated, task_id, unpriced, settings } = receipt
  const facts = useFacts(receipt)
  return (
    <>
      <div class="two">
        <section class="card" aria-label={text('call.what')}>
          <h2>{text('call.what')}</h2>
          <dl class="facts">
            <dt>{text('column.state')}</dt>
            <dd>
              <State state={state} />
            </dd>
            <dt>{text('column.model')}</dt>
            <dd>{model}</dd>
            <dt>{text('column.route')}</dt>
            <dd>{route}</dd>
            <dt>{text('column.key')}</dt>
            <dd>{keyNameOf(key, useKeyNames())}</dd>
            {task_id && <TaskLink id={task_id} />}
            {facts.map(([title, value]) =>
              value === null ? null : (
                <>
                  <dt key={title}>{title}</dt>
                  <dd>{value}</dd>
                </>
              ),
            )}
            {Object.entries(settings ?? {}).map(([name, value]) => (
              <>
                <dt key={name}>{name}</dt>
                <dd>{String(value)}</dd>
              </>
            ))}
          </dl>
        </section>
        <TimeLine steps={stepsOf(receipt, currency)} />
      </div>
      {receipt.failure && <Why failure={receipt.failure} />}
      <Price {...receipt} />
      {estimated && <p class="notice">{text('call.estimated')}</p>}
      {unpriced.length > 0 && (
        <p class="notice">{text('call.unpriced', { names: unpriced.join(', ') })}</p>
      )}
    </>
  )
}

const TaskLink = ({ id }: { id: string }) => (
  <>
    <dt>{text('page.task')}</dt>
    <dd>
      <a href={hrefOf('task', id)}>{id}</a>
    </dd>
  </>
)
