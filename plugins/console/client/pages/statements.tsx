/** Money of the account: a code to redeem, the statement of a month, credits. */
import { useState } from 'preact/hooks'
import { callData } from '../api.ts'
import { formatMoney } from '../format.ts'
import { clearCache, useAction } from '../loading.ts'
import type { PageProps } from '../page.ts'
import { Credits } from '../parts/credits.tsx'
import { Dialog, Field, Form } from '../parts/form.tsx'
import { PageHead } from '../parts/page.tsx'
import { Statement } from '../parts/statement.tsx'
import { toast } from '../parts/toast.tsx'
import { useCurrency } from '../parts/values.tsx'
import { text } from '../texts.ts'

const Statements = ({ place: { query } }: PageProps) => {
  const [isOpen, setOpen] = useState(false)
  const [round, setRound] = useState(0)
  return (
    <>
      <PageHead title={text('page.statements')}>
        <button type="button" class="button primary" onClick={() => setOpen(true)}>
          {text('redeem')}
        </button>
      </PageHead>
      <Statement key={round} query={query} path="/api/statements" />
      <h2>{text('credits')}</h2>
      <Credits path="/api/credits?limit=100" round={round} />
      {isOpen && (
        <Redeem
          onClose={() => setOpen(false)}
          onDone={() => {
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

interface RedeemProps {
  onClose(): void
  onDone(): void
}
const Redeem = ({ onClose, onDone }: RedeemProps) => {
  const [code, setCode] = useState('')
  const currency = useCurrency()
  const action = useAction(async () => {
    const { credited, balance } = await callData<{ credited: string; balance: string }>(
      'POST',
      '/api/codes/redeem',
      { code: code.trim() },
    )
    toast(
      text('redeem.done', {
        amount: formatMoney(credited, currency),
        balance: formatMoney(balance, currency),
      }),
    )
    onDone()
  })
  return (
    <Dialog title={text('redeem')} onClose={onClose}>
      <Form action={action} submit={text('redeem')} params={['code']} onCancel={onClose}>
        <Field
          label={text('redeem.code')}
          help={text('redeem.help')}
          value={code}
          onChange={setCode}
          param="code"
          error={action.error}
          isRequired
          hasFocus
        />
      </Form>
    </Dialog>
  )
}
