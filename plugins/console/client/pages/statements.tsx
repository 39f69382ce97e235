/** Money of the account: a code to redeem, the statement of a month, its plan, credits. */
import { useState } from 'preact/hooks'
import type { Redeemed } from '../../../views.ts'
import { formatMoney } from '../format.ts'
import { clearCache } from '../loading.ts'
import { OperationDialog } from '../operation-dialog.tsx'
import type { PageProps } from '../page.ts'
import { Credits } from '../parts/credits.tsx'
import { PageHead } from '../parts/page.tsx'
import { Statement } from '../parts/statement.tsx'
import { toast } from '../parts/toast.tsx'
import { useCurrency } from '../parts/values.tsx'
import { text } from '../texts.ts'
import { OwnPlan } from './own-plan.tsx'

const Statements = ({ place: { query } }: PageProps) => {
  const [isOpen, setOpen] = useState(false)
  const currency = useCurrency()
  const [round, setRound] = useState(0)
  return (
    <>
      <PageHead title={text('page.statements')}>
        <button type="button" class="button primary" onClick={() => setOpen(true)}>
          {text('redeem')}
        </button>
      </PageHead>
      <Statement key={round} query={query} path="/api/statements" />
      <OwnPlan key={`plan ${round}`} onChange={() => setRound(round => round + 1)} />
      <h2>{text('credits')}</h2>
      <Credits path="/api/credits?limit=100" round={round} />
      {isOpen && (
        <OperationDialog<Redeemed>
          of="redeem-code"
          title={text('redeem')}
          submit={text('redeem')}
          onClose={() => setOpen(false)}
          onDone={({ credited, plan, repeated, balance }) => {
            const amounts = [credited, balance].map(each => formatMoney(each, currency))
            const [amount = '', rest = ''] = amounts
            const done = plan === null ? 'redeem.done' : 'redeem.plan'
            toast(
              text(repeated ? 'redeem.repeated' : done, {
                amount,
                balance: rest,
                plan: plan ?? '',
              }),
            )
            setOpen(false)
            clearCache()
            setRound(round => round + 1)
          }}
        />
      )}
    </>
  )
}
export default Statements
