/** The plan of the account: what it has used, the plans that it can buy, and its end. */
import { useState } from 'preact/hooks'
import type { BoughtPlan, OwnPlans, PlanOffer, PlanView } from '../../../views.ts'
import { formatMoney, formatNumber } from '../format.ts'
import { clearCache, useData } from '../loading.ts'
import { OperationDialog } from '../operation-dialog.tsx'
import { actionColumn } from '../parts/row-actions.tsx'
import { View } from '../parts/states.tsx'
import { type Column, column, PlainTable } from '../parts/table.tsx'
import { toast } from '../parts/toast.tsx'
import { Money, State, Time, useCurrency, useManages } from '../parts/values.tsx'
import { type TextKey, text, textOr } from '../texts.ts'

type Open = { readonly buys: PlanOffer } | 'cancel'

/** Empty if the gateway has no plans to buy, and the account has none. */
export const OwnPlan = ({ onChange }: { onChange(): void }) => {
  const plans = useData<{ readonly data: OwnPlans }>('/api/plans')
  const manages = useManages()
  const [open, setOpen] = useState<Open>()
  const close = () => setOpen(undefined)
  const onDone = (message: string) => {
    toast(message)
    close()
    clearCache()
    onChange()
  }
  return (
    <View of={plans} rows={2}>
      {({ data: { current, offers } }) =>
        (current || offers.length > 0) && (
          <section aria-label={text('plan')}>
            <h2>{text('plan')}</h2>
            {current && <CurrentPlan of={current} />}
            {manages && current && canCancel(current) && (
              <button type="button" class="button" onClick={() => setOpen('cancel')}>
                {text('plan.cancel')}
              </button>
            )}
            {offers.length > 0 && (
              <Offers
                of={offers}
                canBuy={offer => manages && !isOwned(offer, current)}
                onBuy={buys => setOpen({ buys })}
              />
            )}
            {open && <PlanDialog open={open} current={current} onClose={close} onDone={onDone} />}
          </section>
        )
      }
    </View>
  )
}

interface DialogProps {
  readonly open: Open
  readonly current: PlanView | null
  onClose(): void
  onDone(message: string): void
}
const PlanDialog = ({ open, current, onClose, onDone }: DialogProps) => {
  const currency = useCurrency()
  if (open === 'cancel')
    return (
      <OperationDialog<PlanView>
        of="cancel-plan"
        title={text('plan.cancel.title', { plan: current?.plan ?? '' })}
        help={text(current?.state === 'unpaid' ? 'plan.cancel.unpaid' : 'plan.cancel.help')}
        submit={text('plan.cancel')}
        onClose={onClose}
        onDone={({ plan }) => onDone(text('plan.cancelled', { plan }))}
      />
    )
  const { plan, price } = open.buys
  return (
    <OperationDialog<BoughtPlan>
      of="buy-plan"
      fixed={{ plan }}
      title={text('plan.buy.title', { plan, price: formatMoney(price, currency) })}
      help={text(purchaseHelp(plan, current))}
      submit={text('plan.buy')}
      onClose={onClose}
      onDone={({ paid }) =>
        onDone(text('plan.bought', { plan, amount: formatMoney(paid, currency) }))
      }
    />
  )
}

const purchaseHelp = (plan: string, current: PlanView | null): TextKey => {
  if (current?.state !== 'active') return 'plan.buy.help'
  return current.plan === plan ? 'plan.buy.again' : 'plan.buy.replaces'
}
const canCancel = ({ renews, state }: PlanView): boolean => renews !== null || state === 'unpaid'
const isOwned = ({ plan }: PlanOffer, current: PlanView | null): boolean =>
  current?.plan === plan && current.state === 'active' && current.renews !== null

const CurrentPlan = ({ of: plan }: { of: PlanView }) => {
  const currency = useCurrency()
  return (
    <dl class="facts">
      <dt>{text('plan')}</dt>
      <dd>
        {plan.plan} <State state={plan.state} />
      </dd>
      <dt>{text('plan.used')}</dt>
      <dd>
        {plan.unit === 'tokens' ? (
          `${formatNumber(Number(plan.used))} / ${limitText(plan, currency)}`
        ) : (
          <>
            <Money amount={plan.used} /> / <Money amount={plan.amount} /> {currency}
          </>
        )}
      </dd>
      {plan.resets !== null && (
        <>
          <dt>{text('plan.resets')}</dt>
          <dd>
            <Time at={plan.resets} />
          </dd>
        </>
      )}
      {plan.expires !== null && plan.renews === null && (
        <>
          <dt>{text('plan.expires')}</dt>
          <dd>
            <Time at={plan.expires} />
          </dd>
        </>
      )}
      <dt>{text('plan.renews')}</dt>
      <dd>
        {plan.renews === null ? (
          text('plan.renews.no')
        ) : (
          <>
            <Money amount={plan.renews} /> {currency}
          </>
        )}
      </dd>
    </dl>
  )
}

/** An amount of money, or a number of tokens. */
const limitText = ({ amount, unit }: Pick<PlanOffer, 'amount' | 'unit'>, currency: string) =>
  unit === 'tokens'
    ? text('plan.tokens', { count: formatNumber(Number(amount)) })
    : formatMoney(amount, currency)

interface OffersProps {
  readonly of: readonly PlanOffer[]
  canBuy(offer: PlanOffer): boolean
  onBuy(offer: PlanOffer): void
}
const Offers = ({ of: offers, canBuy, onBuy }: OffersProps) => {
  const currency = useCurrency()
  const columns: readonly Column<PlanOffer>[] = [
    column(text('plan'), ({ plan }) => plan),
    column(`${text('plan.price')} (${currency})`, ({ price }) => price, 'money'),
    column(text('plan.amount'), offer => limitText(offer, currency), 'plain', { isNumber: true }),
    {
      title: text('plan.per'),
      cell: ({ per }) => textOr(`plan.per.${per}`, per),
      csv: ({ per }) => per,
    },
    actionColumn(
      ({ plan }) => plan,
      offer => (canBuy(offer) ? [{ label: text('plan.buy'), run: () => onBuy(offer) }] : []),
    ),
  ]
  return <PlainTable name={text('plan.offers')} rows={offers} columns={columns} />
}
